/**
 * Shows "is thinking..." or the running tool next to the name of the bot. Slack supports it only in some threads, and removes
 * it after two minutes or when the bot posts. After a refusal it is not tried again.
 */
import { createLruCache, type SendResult, type Target, type TurnActivity } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { toPostResult } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'

export interface TypingStatus {
  typing(target: Target, signal: AbortSignal): Promise<SendResult>
  /** Takes the running tool, and removes the status when a turn ends without a message. */
  activity(target: Target, activity: TurnActivity): void
  /** A post has removed the status. */
  posted(channel: string, threadTs: string | undefined): void
}

/** Slack removes a status after two minutes. */
const refreshMs = 60_000

/** Limits the length of a label. */
const maxLabelChars = 60

interface ShownStatus {
  readonly text: string
  readonly at: number
}

export function createTypingStatus({ call, options, context, stopping }: SlackAccount): TypingStatus {
  const { typingText: idleText, liveStatus: tools } = options
  const { clock, rateLimited, log } = context
  /** The last status of a thread; null when Slack supports none there. */
  const shown = createLruCache<ShownStatus | null>(1_000)
  /** The texts of the running tools of a thread, by call. */
  const running = createLruCache<Map<string, string>>(1_000)
  let isSupported = true

  return {
    async typing({ chatId, threadId }, signal) {
      if (!isSupported || threadId === undefined) return successResult
      const key = threadKeyOf(chatId, threadId)
      const last = shown.get(key)
      const text = [...(running.get(key)?.values() ?? [])].at(-1) ?? idleText
      if (last === null || (last?.text === text && clock() - last.at < refreshMs)) return successResult
      const result = await set(chatId, threadId, text, signal)
      if (result.ok) {
        shown.set(key, { text, at: clock() })
        return successResult
      }
      const { problem, code = '' } = result.failure
      if (problem !== 'rejected') return toSendResult(result.failure)
      shown.set(key, null)
      if (unsupportedErrors.has(code)) isSupported = false
      return successResult
    },
    activity(target, activity) {
      const { chatId, threadId } = target
      if (threadId === undefined) return
      const key = threadKeyOf(chatId, threadId)
      // The next refresh, within two seconds, shows the tool.
      if (activity.kind === 'tool-started' && tools !== 'off') {
        const calls = running.get(key) ?? new Map<string, string>()
        running.set(key, calls.set(activity.callId, toolText(activity, tools)))
      }
      if (activity.kind === 'tool-ended') running.get(key)?.delete(activity.callId)
      if (activity.kind !== 'turn-ended') return
      running.delete(key)
      if (!isShown(key)) return
      shown.delete(key)
      void clear(target, threadId)
    },
    posted(channel, threadTs) {
      if (threadTs === undefined) return
      const key = threadKeyOf(channel, threadTs)
      if (isShown(key)) shown.delete(key)
    },
  }

  function isShown(key: string): boolean {
    const status = shown.get(key)
    return status !== undefined && status !== null
  }

  /** Never rejects, because Slack removes a status after two minutes anyway. */
  async function clear(target: Target, threadId: string): Promise<void> {
    const { chatId } = target
    try {
      await rateLimited(target, stopping.signal, async (signal) => {
        // The next turn may have started while this call waited for the rate limit.
        if (shown.has(threadKeyOf(chatId, threadId))) return successResult
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

function toolText({ tool, label }: Extract<TurnActivity, { kind: 'tool-started' }>, detail: 'full' | 'verb'): string {
  const subject = detail === 'full' ? [...label.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()] : []
  const shortened = subject.length > maxLabelChars ? [...subject.slice(0, maxLabelChars - 1), '…'] : subject
  return `is using ${tool}${shortened.length === 0 ? '' : `: ${shortened.join('')}`}...`
}

function threadKeyOf(channel: string, threadTs: string): string {
  return `${channel}:${threadTs}`
}
