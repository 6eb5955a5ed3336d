/**
 * Marks on the message that is worked on: 👀 while the agent is at it, ✅ or ❌ afterwards. Only where the settings ask for it:
 * they cost three calls for each message.
 */
import { type Logger, messageOf, type PlatformContext, type SendResult, type Target, type TurnActivity } from '#sdk'
import type { Api } from '../connection/api.ts'
import { describeError, toSendResult } from '../errors.ts'
import { isSnowflake } from '../inbound/payload.ts'
import { channelOfMessage } from './render.ts'

export interface StatusReactionDeps {
  readonly api: Pick<Api, 'react' | 'unreact'>
  readonly rateLimited: PlatformContext['rateLimited']
  readonly signal: AbortSignal
  readonly log: Logger
}

const workingEmoji = '👀'
const resultEmojis = { done: '✅', failed: '❌', stopped: undefined } as const

/** Returns at once, and never throws: a mark that cannot be set is no reason to disturb anybody. */
export function createStatusReactions({ api, rateLimited, signal, log }: StatusReactionDeps) {
  /** By message: the end of the calls so far, so that they come in order. */
  const running = new Map<string, Promise<void>>()

  return (target: Target, activity: TurnActivity): void => {
    if (activity.kind !== 'turn-started' && activity.kind !== 'turn-ended') return
    const { messageId } = activity
    if (!isSnowflake(messageId)) return
    const place = channelOfMessage(target, messageId)
    if (activity.kind === 'turn-started') {
      queue(target, messageId, (until) => api.react(place, messageId, workingEmoji, until))
      return
    }
    const mark = resultEmojis[activity.status]
    queue(target, messageId, (until) => api.unreact(place, messageId, workingEmoji, until))
    if (mark !== undefined) queue(target, messageId, (until) => api.react(place, messageId, mark, until))
  }

  function queue(target: Target, messageId: string, call: (signal: AbortSignal) => Promise<unknown>): void {
    const next = (running.get(messageId) ?? Promise.resolve()).then(() => react(target, call))
    running.set(messageId, next)
    void next.then(() => {
      if (running.get(messageId) === next) running.delete(messageId)
    })
  }

  /** Never rejects. */
  async function react(target: Target, call: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    try {
      await rateLimited(target, signal, async (until): Promise<SendResult> => {
        try {
          await call(until)
          return { success: true }
        } catch (error) {
          log.debug({ reason: describeError(error) }, 'a reaction could not be set')
          return toSendResult(error, false)
        }
      })
    } catch (error) {
      log.debug({ reason: messageOf(error) }, 'a reaction was called off')
    }
  }
}
