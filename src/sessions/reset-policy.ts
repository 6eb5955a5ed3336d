/**
 * When a conversation begins a new session by itself (contract §3.4). Evaluated with the next message; nothing runs in
 * between. Loaded when the configuration has such a policy.
 */
import type { SessionSource } from '../message/source.ts'
import { query, row, type Transaction } from '../store/query.ts'
import type { ResetPolicy, SessionsConfig } from './config.ts'

export type ResetReason = 'daily' | 'idle'

/** The policy for messages of this source: an override for its platform wins over one for its type of chat. */
export function resetPolicyFor(
  { session_reset, reset_by_platform, reset_by_type }: SessionsConfig,
  { platform, chatType }: Pick<SessionSource, 'platform' | 'chatType'>,
): ResetPolicy {
  const byType = reset_by_type[typeOf(chatType)]
  const byPlatform = reset_by_platform[platform]
  return {
    mode: byPlatform?.mode ?? byType?.mode ?? session_reset.mode,
    at_hour: byPlatform?.at_hour ?? byType?.at_hour ?? session_reset.at_hour,
    idle_minutes: byPlatform?.idle_minutes ?? byType?.idle_minutes ?? session_reset.idle_minutes,
    notify: byPlatform?.notify ?? byType?.notify ?? session_reset.notify,
    notify_exclude_platforms: session_reset.notify_exclude_platforms,
  }
}

function typeOf(chatType: SessionSource['chatType']): 'dm' | 'group' | 'thread' {
  if (chatType === 'dm') return 'dm'
  return chatType === 'thread' || chatType === 'forum' ? 'thread' : 'group'
}

/**
 * Why the session ends before a message that was accepted at `now`, with the last activity at `lastAt`; null when it goes on. Times are ms; the
 * hour is local. A clock that was set back ends nothing.
 */
export function dueReset(
  { mode, at_hour, idle_minutes }: Pick<ResetPolicy, 'mode' | 'at_hour' | 'idle_minutes'>,
  lastAt: number,
  now: number,
): ResetReason | null {
  if ((mode === 'idle' || mode === 'both') && now > lastAt + idle_minutes * 60_000) return 'idle'
  if ((mode === 'daily' || mode === 'both') && lastAt < latestBoundary(at_hour, now)) return 'daily'
  return null
}

/** The latest moment at which it was this hour of the day. An hour that the clock skips counts as the following one. */
function latestBoundary(hour: number, now: number): number {
  const boundary = new Date(now)
  boundary.setHours(hour, 0, 0, 0)
  // Counted in days of the calendar, which may have 23 or 25 hours.
  if (boundary.getTime() > now) {
    boundary.setDate(boundary.getDate() - 1)
    boundary.setHours(hour, 0, 0, 0)
  }
  return boundary.getTime()
}

const selectActivity = query((db, p: { key: string }) =>
  db
    .selectFrom('lanes')
    .innerJoin('sessions', 'sessions.id', 'lanes.session_id')
    .select(['sessions.id', 'lanes.fresh', 'lanes.updated_at as claimed_at', 'sessions.updated_at as ended_at'])
    .where('lanes.session_key', '=', p.key),
)

/** The current session and when its latest turn began or ended; undefined before the first turn. */
export function* findSessionActivity(
  key: string,
): Transaction<{ readonly sessionId: string; readonly lastAt: number } | undefined> {
  const activity = yield* row(selectActivity, { key })
  if (activity === undefined || activity.fresh === 1) return undefined
  return { sessionId: activity.id, lastAt: Math.max(activity.claimed_at, activity.ended_at) }
}
