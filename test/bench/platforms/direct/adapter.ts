/**
 * A platform without a network. The benchmark requests its messages, and it measures the time until their replies.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import {
  brand,
  definePlatform,
  type EventKey,
  type MessageEvent,
  type OutboundMessage,
  type PlatformAdapter,
} from '#sdk'
import { handleRequest } from '../../kit/child-requests.ts'

const runSchema = z.object({
  run: z.string(),
  /** Concurrent chats. */
  chats: z.number(),
  /** In total. */
  turns: z.number(),
  /** After this number of turns a chat is replaced by a new one. */
  perSession: z.number(),
  /** Delay between a reply and the next message of its chat. */
  pauseMs: z.number(),
})

/** The times of one turn, ms. */
interface TurnTimes {
  readonly first: boolean
  readonly accepted: number
  readonly answered: number
}

export default definePlatform({
  createAdapter({ account, accept }): PlatformAdapter {
    const waiting = new Map<string, () => void>()
    let number = 0

    async function turn(chat: string, first: boolean): Promise<TurnTimes> {
      const replied = new Promise<number>((resolve) => waiting.set(chat, () => resolve(performance.now())))
      number += 1
      const begun = performance.now()
      await accept(eventOf(chat, number, account), [brand<EventKey>(`direct:${number}`)])
      const accepted = performance.now() - begun
      return { first, accepted, answered: (await replied) - begun }
    }

    handleRequest('turns', runSchema, async ({ run, chats, turns, perSession, pauseMs }) => {
      const clocked: TurnTimes[] = []
      let left = turns
      const lane = async (slot: number) => {
        for (let done = 0; left > 0; done++) {
          left -= 1
          clocked.push(await turn(`${run}-${slot}-${Math.floor(done / perSession)}`, done % perSession === 0))
          await (pauseMs > 0 ? setTimeout(pauseMs) : setImmediate())
        }
      }
      const begun = performance.now()
      await Promise.all(Array.from({ length: chats }, (_, slot) => lane(slot)))
      return { clocked, ms: performance.now() - begun }
    })

    return {
      connect: async () => undefined,
      disconnect: async () => undefined,
      async send({ target }: OutboundMessage) {
        waiting.get(target.chatId)?.()
        waiting.delete(target.chatId)
        return { success: true, messageId: 'm' }
      },
    }
  },
})

function eventOf(chatId: string, number: number, account: string): MessageEvent {
  const source = { platform: 'direct', account, chatId, chatType: 'dm' as const, userId: 'u1' }
  const text = `message number ${number}`
  return { source, text, messageType: 'text', messageId: String(number), timestamp: Date.now() }
}
