/**
 * A platform without a network. The benchmark requests its messages, and it measures the time until their replies.
 */
import process from 'node:process'
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

const rateSchema = z.object({
  run: z.string(),
  conversations: z.number(),
  perSecond: z.number(),
  seconds: z.number(),
  /** Messages that one more person sends in the first second. Their replies are not awaited. */
  flood: z.number(),
})

/** The times of one turn, ms. */
interface TurnTimes {
  readonly first: boolean
  /** On the monotonic clock, as the profiler counts. */
  readonly begun: number
  readonly accepted: number
  readonly answered: number
}

export default definePlatform({
  createAdapter({ account, accept }): PlatformAdapter {
    /** The messages of a chat that wait for their reply, oldest first. */
    const waiting = new Map<string, (() => void)[]>()
    let number = 0

    async function turn(chat: string, first: boolean): Promise<TurnTimes> {
      const replied = new Promise<number>((resolve) => {
        const others = waiting.get(chat) ?? []
        waiting.set(chat, [...others, () => resolve(performance.now())])
      })
      number += 1
      const [begun, monotonic] = [performance.now(), Number(process.hrtime.bigint()) / 1e6]
      await accept(eventOf(chat, number, account), [brand<EventKey>(`direct:${number}`)])
      const accepted = performance.now() - begun
      return { first, begun: monotonic, accepted, answered: (await replied) - begun }
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

    /** Messages arrive at their times, whether or not the earlier ones are answered. */
    handleRequest('rate', rateSchema, async ({ run, conversations, perSecond, seconds, flood }) => {
      const begun = performance.now()
      const until = (ms: number) => setTimeout(Math.max(0, begun + ms - performance.now()))
      const sent: Promise<TurnTimes>[] = []
      const flooding = (async () => {
        for (let index = 0; index < flood; index++) {
          await until((index * 1_000) / flood)
          number += 1
          await accept(eventOf(`${run}-flood`, number, account), [brand<EventKey>(`direct:${number}`)])
        }
      })()
      for (let index = 0; index < perSecond * seconds; index++) {
        await until((index * 1_000) / perSecond)
        const chat = `${run}-${index % conversations}`
        sent.push(turn(chat, index < conversations))
      }
      const answered = (await Promise.all(sent)).filter(({ first }) => !first).map((times) => times.answered)
      await flooding
      return { answered, sent: sent.length, ms: performance.now() - begun }
    })

    return {
      connect: async () => undefined,
      disconnect: async () => undefined,
      async send({ target }: OutboundMessage) {
        const [oldest, ...others] = waiting.get(target.chatId) ?? []
        oldest?.()
        if (others.length === 0) waiting.delete(target.chatId)
        else waiting.set(target.chatId, others)
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
