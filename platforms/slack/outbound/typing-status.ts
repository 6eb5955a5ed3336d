/**
 * "is thinking..." beside the name of the bot. Slack shows that in some threads only, for two minutes, and until the bot
 * writes there; where it says no it is not asked again.
 */
import {
  createLruCache,
  type Logger,
  messageOf,
  type PlatformContext,
  type SendResult,
  type Target,
  type TurnActivity,
} from '#sdk'
import { type ApiCall, toPostResult, toSendResult } from '../connection/api.ts'

export interface TypingStatus {
  typing(target: Target, signal: AbortSignal): Promise<SendResult>
  /** A turn that ended without a message leaves nothing behind. */
  activity(target: Target, activity: TurnActivity): void
  /** A message of ours has taken the status away. */
  posted(channel: string, threadTs: string | undefined): void
}

export interface TypingStatusDeps {
  readonly call: ApiCall
  readonly text: string
  readonly clock: () => number
  readonly paced: PlatformContext['rateLimited']
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Slack forgets a status after two minutes. */
const refreshMs = 60_000

export function createTypingStatus({ call, text, clock, paced, log, signal: ended }: TypingStatusDeps): TypingStatus {
  /** When a thread got its status, ms; Infinity where Slack shows none. */
  const shownAt = createLruCache<number>(1_000)
  let offered = true

  return {
    async typing({ chatId, threadId }, signal) {
      if (!offered || threadId === undefined) return successResult
      const key = threadKeyOf(chatId, threadId)
      if (clock() - (shownAt.get(key) ?? Number.NEGATIVE_INFINITY) < refreshMs) return successResult
      const answer = await set(chatId, threadId, text, signal)
      if (answer.ok) {
        shownAt.set(key, clock())
        return successResult
      }
      const { problem, code = '' } = answer.failure
      if (problem !== 'rejected') return toSendResult(answer.failure)
      shownAt.set(key, Number.POSITIVE_INFINITY)
      if (unsupportedErrors.has(code)) offered = false
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

  /** Never rejects: Slack itself takes a status away after two minutes. */
  async function clear(target: Target, threadId: string): Promise<void> {
    const { chatId } = target
    try {
      await paced(target, ended, async (signal) => {
        // The next turn may have begun while this waited.
        if (shownAt.has(threadKeyOf(chatId, threadId))) return successResult
        return toPostResult(await set(chatId, threadId, '', signal))
      })
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'a status was not taken away')
    }
  }

  function set(channel: string, threadTs: string, status: string, signal: AbortSignal) {
    return call('assistant.threads.setStatus', { channel_id: channel, thread_ts: threadTs, status }, signal)
  }
}

const successResult: SendResult = { success: true }

/** Not of this thread alone. */
const unsupportedErrors: ReadonlySet<string> = new Set([
  'unknown_method',
  'missing_scope',
  'method_not_supported_for_channel_type',
])

function threadKeyOf(channel: string, threadTs: string): string {
  return `${channel}:${threadTs}`
}
