/**
 * Fetches messages that were written during a restart or an outage. They have the same keys as live messages, so that the
 * gateway drops those that it has stored already.
 *
 * The number of chats, the messages of each chat, and their age are limited.
 */
import { type Logger, messageOf } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { nextCursor } from '../outbound/find-delivery.ts'
import { isTrueAt, type JsonRecord, numberAt, recordsAt, textAt, tsAt } from './payload.ts'

export interface CatchUpDeps {
  readonly call: ApiCall
  /** The cursors of channels and threads; the key is `channel` or `channel:thread_ts`. */
  cursors(): Promise<ReadonlyMap<string, string>>
  /** Accepts a message from the history of a channel. Resolves when it is stored. */
  ingestStored(channel: string, message: JsonRecord): Promise<void>
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly signal: AbortSignal
}

const maxTargets = 20
const maxMessages = 50
const maxPages = 4
const maxAgeMs = 24 * 3_600_000
/** A late event may be older than the cursor. */
const overlapMs = 60_000
/** A longer rate limit ends the catch-up. */
const maxRateLimitWaitMs = 60_000

interface CatchUpTarget {
  readonly channel: string
  readonly threadTs?: string
  /** The cursor, in seconds. */
  readonly since: number
}

const retryMs = 10_000

/** Repeats the catch-up until every message is stored or the signal aborts. Never rejects. */
export async function catchUpUntilStored(deps: CatchUpDeps): Promise<void> {
  const { log, sleep, signal } = deps
  while (!signal.aborted) {
    try {
      return await catchUp(deps)
    } catch (error) {
      if (signal.aborted) return
      log.warn(
        { event: 'slack.catch_up_failed', err: error },
        `missed messages could not be stored, trying again: ${messageOf(error)}`,
      )
      await sleep(retryMs, signal)
    }
  }
}

/** Resolves when all messages that the bot can read are stored. Rejects when one could not be stored. */
async function catchUp(deps: CatchUpDeps): Promise<void> {
  const targets = catchUpTargetsOf(await deps.cursors())
  const queue = [...targets]
  const known = new Set(targets.map(targetKeyOf))
  for (const target of queue) {
    if (deps.signal.aborted) return
    // A thread that started during the outage is a target of its own.
    for (const thread of await catchUpTarget(deps, target)) {
      if (!known.has(targetKeyOf(thread)) && known.size < maxTargets * 2) queue.push(thread)
      known.add(targetKeyOf(thread))
    }
  }
}

/** Channels, then threads, newest first. The cursor of a thread also counts for its channel. */
export function catchUpTargetsOf(cursors: ReadonlyMap<string, string>): CatchUpTarget[] {
  const channels = new Map<string, number>()
  const threads: CatchUpTarget[] = []
  for (const [key, id] of cursors) {
    const [channel = '', threadTs] = key.split(':', 2)
    const since = Number(id)
    if (channel === '' || !Number.isFinite(since)) continue
    channels.set(channel, Math.max(channels.get(channel) ?? 0, since))
    if (threadTs !== undefined) threads.push({ channel, threadTs, since })
  }
  const newest = (all: CatchUpTarget[]) => all.sort((one, other) => other.since - one.since)
  const top = newest([...channels].map(([channel, since]) => ({ channel, since }))).slice(0, maxTargets / 2)
  return [...top, ...newest(threads).slice(0, maxTargets - top.length)]
}

/** Accepts the new messages of a target, oldest first. Returns the threads that started there. */
async function catchUpTarget(deps: CatchUpDeps, target: CatchUpTarget): Promise<CatchUpTarget[]> {
  const { channel, threadTs, since } = target
  const oldest = Math.max(since - overlapMs / 1_000, (deps.clock() - maxAgeMs) / 1_000)
  const messages = await fetchMessagesSince(deps, target, oldest.toFixed(6))
  const threads: CatchUpTarget[] = []
  for (const message of messages) {
    if (deps.signal.aborted) return []
    const ts = tsAt(message)
    if (ts === undefined || (threadTs !== undefined && ts === threadTs)) continue
    await deps.ingestStored(channel, message)
    if (threadTs === undefined && (numberAt(message, 'reply_count') ?? 0) > 0) {
      threads.push({ channel, threadTs: ts, since: Number(ts) })
    }
  }
  return threads
}

/** The newest messages since `oldest`, in ascending order. */
async function fetchMessagesSince(
  deps: CatchUpDeps,
  { channel, threadTs }: CatchUpTarget,
  oldest: string,
): Promise<JsonRecord[]> {
  const found = new Map<string, JsonRecord>()
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const args = {
      channel,
      oldest,
      limit: maxMessages,
      ...(threadTs === undefined ? {} : { ts: threadTs }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const data = await callWithRetry(
      deps,
      threadTs === undefined ? 'conversations.history' : 'conversations.replies',
      args,
    )
    if (data === undefined) break
    for (const message of recordsAt(data, 'messages')) {
      const ts = tsAt(message)
      if (ts !== undefined) found.set(ts, message)
    }
    cursor = nextCursor(data)
    // A channel is listed newest first, so one page is enough. A thread is listed oldest first.
    if (threadTs === undefined || cursor === undefined || !isTrueAt(data, 'has_more')) break
  }
  const ordered = [...found].sort(([one], [other]) => Number(one) - Number(other))
  return ordered.slice(-maxMessages).map(([, message]) => message)
}

/** `undefined` when the bot cannot read the channel. */
async function callWithRetry(deps: CatchUpDeps, method: string, args: JsonRecord): Promise<JsonRecord | undefined> {
  const { call, sleep, log, signal } = deps
  for (let attempt = 1; attempt <= 3 && !signal.aborted; attempt += 1) {
    const result = await call(method, args, signal)
    if (result.ok) return result.data
    const { problem, error, code, retryAfterMs = 1_000 * attempt } = result.failure
    if (problem === 'rejected' || problem === 'unauthorised') {
      // The app also works without the scope for history. Only missed messages stay unread.
      const level = code === 'missing_scope' ? 'info' : 'debug'
      log[level](
        { event: 'slack.catch_up_skipped', channel: textAt(args, 'channel'), reason: error },
        'missed messages cannot be read',
      )
      return undefined
    }
    if (retryAfterMs > maxRateLimitWaitMs) break
    await sleep(retryAfterMs, signal)
  }
  return undefined
}

function targetKeyOf({ channel, threadTs = '' }: CatchUpTarget): string {
  return `${channel}:${threadTs}`
}
