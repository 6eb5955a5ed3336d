/**
 * What people wrote while nobody listened: after a restart or an outage the newest messages of each place are fetched,
 * and taken like live ones. Their keys are the same, so that whatever was taken already is known.
 *
 * Bounded: so many places, so many messages of each, not older than a day.
 */
import type { Logger } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { nextCursor } from '../outbound/find-delivery.ts'
import { isTrueAt, type JsonRecord, numberAt, recordsAt, textAt, tsAt } from './payload.ts'

export interface CatchUpDeps {
  readonly call: ApiCall
  /** How far each place was read: a channel, or `channel:thread_ts`. */
  marks(): Promise<ReadonlyMap<string, string>>
  /** Takes a message of a channel, as it stands in the history. Resolves when it is on disk. */
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
/** An event that came late may be older than one that was taken before it. */
const overlapMs = 60_000
/** Longer is not waited for a rate limit: the next outage asks again. */
const maxRateLimitWaitMs = 60_000

interface CatchUpTarget {
  readonly channel: string
  readonly threadTs?: string
  /** Seconds, with a fraction: what was read last. */
  readonly since: number
}

/** Resolves when all has been taken, or as much as Slack lets us see. Rejects where something could not be stored. */
export async function catchUp(deps: CatchUpDeps): Promise<void> {
  const places = catchUpTargetsOf(await deps.marks())
  const queue = [...places]
  const asked = new Set(places.map(targetKeyOf))
  for (const place of queue) {
    if (deps.signal.aborted) return
    // A thread that began meanwhile is a place of its own.
    for (const found of await catchUpTarget(deps, place)) {
      if (!asked.has(targetKeyOf(found)) && asked.size < maxTargets * 2) queue.push(found)
      asked.add(targetKeyOf(found))
    }
  }
}

/** Channels first: a thread's mark tells how far its channel was read, too. Newest first. */
export function catchUpTargetsOf(marks: ReadonlyMap<string, string>): CatchUpTarget[] {
  const channels = new Map<string, number>()
  const threads: CatchUpTarget[] = []
  for (const [name, id] of marks) {
    const [channel = '', threadTs] = name.split(':', 2)
    const since = Number(id)
    if (channel === '' || !Number.isFinite(since)) continue
    channels.set(channel, Math.max(channels.get(channel) ?? 0, since))
    if (threadTs !== undefined) threads.push({ channel, threadTs, since })
  }
  const newest = (all: CatchUpTarget[]) => all.sort((one, other) => other.since - one.since)
  const top = newest([...channels].map(([channel, since]) => ({ channel, since }))).slice(0, maxTargets / 2)
  return [...top, ...newest(threads).slice(0, maxTargets - top.length)]
}

/** Takes what is new in a place, oldest first; gives back the threads that began there. */
async function catchUpTarget(deps: CatchUpDeps, place: CatchUpTarget): Promise<CatchUpTarget[]> {
  const { channel, threadTs, since } = place
  const oldest = Math.max(since - overlapMs / 1_000, (deps.clock() - maxAgeMs) / 1_000)
  const messages = await fetchMessagesSince(deps, place, oldest.toFixed(6))
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

/** The newest messages since `oldest`, the oldest of them first. */
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
    // A channel comes newest first, so one page is enough; a thread comes oldest first.
    if (threadTs === undefined || cursor === undefined || !isTrueAt(data, 'has_more')) break
  }
  const ordered = [...found].sort(([one], [other]) => Number(one) - Number(other))
  return ordered.slice(-maxMessages).map(([, message]) => message)
}

/** Undefined where Slack does not let us see it. */
async function callWithRetry(deps: CatchUpDeps, method: string, args: JsonRecord): Promise<JsonRecord | undefined> {
  const { call, sleep, log, signal } = deps
  for (let attempt = 1; attempt <= 3 && !signal.aborted; attempt += 1) {
    const answer = await call(method, args, signal)
    if (answer.ok) return answer.data
    const { problem, error, code, retryAfterMs = 1_000 * attempt } = answer.failure
    if (problem === 'rejected' || problem === 'unauthorised') {
      // Without the right the app works all the same: only what was written meanwhile stays unread.
      const level = code === 'missing_scope' ? 'info' : 'debug'
      log[level]({ place: textAt(args, 'channel'), error }, 'what was written meanwhile cannot be read')
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
