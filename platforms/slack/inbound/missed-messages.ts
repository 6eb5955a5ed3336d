/**
 * Fetches the messages of a channel or thread since its cursor, page by page. A failed call is repeated until Slack answers,
 * so that a failure skips no message.
 */
import { backoffMs, sleep } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { nextCursor } from '../outbound/find-delivery.ts'
import type { CatchUpTarget } from './catch-up-targets.ts'
import { type JsonRecord, numberAt, recordsAt, tsAt } from './payload.ts'
import type { StoredMessages } from './stored-messages.ts'

export interface MissedMessages {
  /** For the bot, oldest first. May contain messages that were accepted before. */
  readonly messages: readonly JsonRecord[]
  /** Messages for the bot that exceed the limit. */
  readonly skipped: number
  /** The messages of a channel that have replies, newest first. */
  readonly threads: readonly string[]
}

const pageSize = 200
/** A day of a very busy channel. */
const maxPages = 100
const maxAgeMs = 24 * 3_600_000
/** A late event may be older than the cursor. */
const overlapMs = 60_000
const minBackoffMs = 500
const maxBackoffMs = 30_000

/** `undefined` when the bot cannot read the channel, or the signal has aborted. */
export async function fetchMissedMessages(
  account: SlackAccount,
  { isForBot }: StoredMessages,
  target: CatchUpTarget,
  signal: AbortSignal,
): Promise<MissedMessages | undefined> {
  const { clock, log, catchUp } = account.context
  const { channel, threadTs, since } = target
  const oldest = Math.max(since - overlapMs / 1_000, (clock() - maxAgeMs) / 1_000).toFixed(6)
  const threads: string[] = []
  let messages: JsonRecord[] = []
  let skipped = 0
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const data = await callUntilAnswered(account, target, { oldest, cursor }, signal)
    if (data === undefined || signal.aborted) return undefined
    for (const message of recordsAt(data, 'messages')) {
      const ts = tsAt(message)
      // The first message of a thread precedes every page.
      if (ts === undefined || ts === threadTs) continue
      if (threadTs === undefined && (numberAt(message, 'reply_count') ?? 0) > 0) threads.push(ts)
      if (await isForBot(channel, message)) messages.push(message)
    }
    // Slack lists channels and threads in different directions.
    messages.sort((a, b) => timeOf(a) - timeOf(b))
    const excess = messages.slice(0, Math.max(0, messages.length - catchUp.limit()))
    skipped += excess.filter((message) => timeOf(message) > since).length
    messages = messages.slice(excess.length)
    cursor = nextCursor(data)
    if (cursor === undefined) break
  }
  if (cursor !== undefined) {
    log.warn(
      { event: 'slack.catch_up_truncated', channel, thread: threadTs, messages: maxPages * pageSize },
      'there are more messages than can be searched for missed ones',
    )
  }
  return { messages, skipped, threads: threads.sort((a, b) => Number(b) - Number(a)) }
}

/** `undefined` when Slack refuses the call, or the signal has aborted. */
async function callUntilAnswered(
  { call, context }: SlackAccount,
  { channel, threadTs }: CatchUpTarget,
  { oldest, cursor }: { readonly oldest: string; readonly cursor: string | undefined },
  signal: AbortSignal,
): Promise<JsonRecord | undefined> {
  const { log } = context
  const method = threadTs === undefined ? 'conversations.history' : 'conversations.replies'
  const args = {
    channel,
    oldest,
    limit: pageSize,
    ts: threadTs,
    cursor,
  }
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const result = await call(method, args, signal)
    if (result.ok) return result.data
    if (signal.aborted) return undefined
    const { problem, error: reason, code, retryAfterMs } = result.failure
    if (problem === 'rejected' || problem === 'unauthorised') {
      // The app also works without the scope for history. Only missed messages stay unread.
      const level = code === 'missing_scope' ? 'info' : 'debug'
      log[level]({ event: 'slack.catch_up_skipped', channel, reason }, 'missed messages cannot be read')
      return undefined
    }
    const pauseMs = retryAfterMs ?? backoffMs(attempt, minBackoffMs, maxBackoffMs, Math.random)
    log.warn(
      { event: 'slack.catch_up_retried', channel, attempt, pauseMs, reason },
      'missed messages could not be fetched; trying again',
    )
    await sleep(pauseMs, signal)
  }
  return undefined
}

function timeOf(message: JsonRecord): number {
  return Number(tsAt(message))
}
