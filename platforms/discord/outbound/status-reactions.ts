/**
 * Reactions on the message of a turn: 👀 while the agent works, ✅ or ❌ afterwards. Off by default, because they cost three
 * calls per message.
 */
import { messageOf, type SendResult, type Target, type TurnActivity } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { describeError, toSendResult } from '../errors.ts'
import { isSnowflake } from '../inbound/payload.ts'
import { channelOfMessage } from './render.ts'

const workingEmoji = '👀'
const resultEmojis = { done: '✅', failed: '❌', stopped: undefined, interrupted: undefined } as const

/** Returns at once. Never throws; a reaction that cannot be set is only logged. */
export function createStatusReactions({ api, context, stopping }: DiscordAccount) {
  const { rateLimited, log } = context
  /** By message: the last queued call, so that calls run in order. */
  const lastCalls = new Map<string, Promise<void>>()

  return (target: Target, activity: TurnActivity): void => {
    if (activity.kind !== 'turn-started' && activity.kind !== 'turn-ended') return
    const { messageId } = activity
    if (!isSnowflake(messageId)) return
    const channel = channelOfMessage(target, messageId)
    if (activity.kind === 'turn-started') {
      queue(target, messageId, (until) => api.react(channel, messageId, workingEmoji, until))
      return
    }
    const emoji = resultEmojis[activity.status]
    queue(target, messageId, (until) => api.unreact(channel, messageId, workingEmoji, until))
    if (emoji !== undefined) queue(target, messageId, (until) => api.react(channel, messageId, emoji, until))
  }

  function queue(target: Target, messageId: string, call: (signal: AbortSignal) => Promise<unknown>): void {
    const next = (lastCalls.get(messageId) ?? Promise.resolve()).then(() => react(target, call))
    lastCalls.set(messageId, next)
    void next.then(() => {
      if (lastCalls.get(messageId) === next) lastCalls.delete(messageId)
    })
  }

  /** Never rejects. */
  async function react(target: Target, call: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    try {
      await rateLimited(target, stopping.signal, async (until): Promise<SendResult> => {
        try {
          await call(until)
          return { success: true }
        } catch (error) {
          log.debug({ event: 'discord.reaction_failed', reason: describeError(error) }, 'reaction could not be set')
          return toSendResult(error, false)
        }
      })
    } catch (error) {
      log.debug({ event: 'discord.reaction_cancelled', reason: messageOf(error) }, 'reaction was cancelled')
    }
  }
}
