/**
 * Shows "is thinking..." next to the name of the bot. Slack supports it only in some threads, and removes it after two
 * minutes or when the bot posts. After a refusal it is not tried again.
 */
import {
  createLruCache,
  type Logger,
  type PlatformContext,
  type SendResult,
  type Target,
  type TurnActivity,
} from '#sdk'
import { type ApiCall, toPostResult } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'

export interface TypingStatus {
  typing(target: Target, signal: AbortSignal): Promise<SendResult>
  /** Removes the status when a turn ends without a message. */
  activity(target: Target, activity: TurnActivity): void
  /** A post has removed the status. */
  posted(channel: string, threadTs: string | undefined): void
}

export interface TypingStatusDeps {
  readonly call: ApiCall
  readonly text: string
  readonly clock: () => number
  readonly rateLimited: PlatformContext['rateLimited']
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Slack removes a status after two minutes. */
const refreshMs = 60_000

export function createTypingStatus({
  call,
  text,
  clock,
  rateLimited,
  log,
  signal: stopping,
}: TypingStatusDeps): TypingStatus {
  /** The time of the last status of a thread; `Infinity` when Slack supports none there. */
  const shownAt = createLruCache<number>(1_000)
  let isSupported = true

  return {
    async typing({ chatId, threadId }, signal) {
      if (!isSupported || threadId === undefined) return successResult
      const key = threadKeyOf(chatId, threadId)
      if (clock() - (shownAt.get(key) ?? Number.NEGATIVE_INFINITY) < refreshMs) return successResult
      const result = await set(chatId, threadId, text, signal)
      if (result.ok) {
        shownAt.set(key, clock())
        return successResult
      }
      const { problem, code = '' } = result.failure
      if (problem !== 'rejected') return toSendResult(result.failure)
      shownAt.set(key, Number.POSITIVE_INFINITY)
      if (unsupportedErrors.has(code)) isSupported = false
      return successResult
    },
    activity(target, { kind }) {
      const { chatId, threadId } = target
      if (kind !== 'turn-ended' || threadId === undefined) return
      const key = threadKeyOf(chatId, threadId)
      if (!Number.isFinite(shownAt.get(key))) return
      shownAt.delete(key)
      void clear(target, threadId)
    },
    posted(channel, threadTs) {
      if (threadTs === undefined) return
      const key = threadKeyOf(channel, threadTs)
      if (Number.isFinite(shownAt.get(key))) shownAt.delete(key)
    },
  }

  /** Never rejects, because Slack removes a status after two minutes anyway. */
  async function clear(target: Target, threadId: string): Promise<void> {
    const { chatId } = target
    try {
      await rateLimited(target, stopping, async (signal) => {
        // The next turn may have started while this call waited for the rate limit.
        if (shownAt.has(threadKeyOf(chatId, threadId))) return successResult
        return toPostResult(await set(chatId, threadId, '', signal))
      })
    } catch (error) {
      log.debug({ event: 'slack.status_clear_failed', err: error }, 'status could not be cleared')
    }
  }

  function set(channel: string, threadTs: string, status: string, signal: AbortSignal) {
    return call('assistant.threads.setStatus', { channel_id: channel, thread_ts: threadTs, status }, signal)
  }
}

const successResult: SendResult = { success: true }

/** Errors that apply to all threads. */
const unsupportedErrors: ReadonlySet<string> = new Set([
  'unknown_method',
  'missing_scope',
  'method_not_supported_for_channel_type',
])

function threadKeyOf(channel: string, threadTs: string): string {
  return `${channel}:${threadTs}`
}
