/**
 * Begins a new session by itself when the configuration says so (`session_reset`), in the transaction that takes up the next
 * message. The user gets a notice, the model a note behind the message, hooks and plugins their events.
 */
import { formatDuration } from '../../lib/duration.ts'
import { hasWaitingUser, type MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { targetOf } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { SessionsConfig } from '../../sessions/config.ts'
import { dueReset, findSessionActivity, type ResetReason, resetPolicyFor } from '../../sessions/reset-policy.ts'
import { startNewSession } from '../../sessions/session-state.ts'
import { afterCommit, enlist, type Transaction } from '../../store/query.ts'
import type { ReplacedSession } from '../sessions/session-services.ts'

/** Begins the session `newSessionId` when it was due as the message was written. `acceptedAt`: when it arrived, ms. */
export type ResetIfDue = (
  key: SessionKey,
  event: MessageEvent,
  newSessionId: string,
  acceptedAt: number,
  now: number,
) => Transaction<AppliedReset | null>

export interface AppliedReset {
  readonly reason: ResetReason
  /** For the model, behind the message. */
  readonly note: string
}

/**
 * @param hasRunningCommand whether a command of the session runs in the background
 * @param sessionReplaced notifies hooks and plugins after the new session is stored
 */
export function createResetIfDue(
  settings: () => SessionsConfig,
  outbox: Pick<Outbox, 'prepare'>,
  hasRunningCommand: (sessionId: string) => boolean,
  sessionReplaced: (replaced: ReplacedSession) => void,
): ResetIfDue {
  return function* (sessionKey, event, newSessionId, acceptedAt, now) {
    // A task has one session for its whole life.
    if (event.task !== undefined) return null
    const { source } = event
    const policy = resetPolicyFor(settings(), source)
    if (policy.mode === 'none') return null
    const writtenAt = timeOfWriting(event, acceptedAt)
    const activity = yield* findSessionActivity(sessionKey)
    const reason = activity === undefined ? null : dueReset(policy, activity.lastAt, writtenAt)
    if (activity === undefined || reason === null || hasRunningCommand(activity.sessionId)) return null
    const { sessionId: oldSessionId, lastAt } = activity
    const { platform, userId = '' } = source
    const options = { key: sessionKey, source: JSON.stringify(source), platform, userId, newSessionId, now }
    yield* startNewSession(options, '', reason)
    yield* afterCommit(() => sessionReplaced({ sessionKey, source, oldSessionId, newSessionId, reason }))
    const pause = formatDuration(writtenAt - lastAt)
    if (policy.notify && !policy.notify_exclude_platforms.includes(platform) && hasWaitingUser(event)) {
      const why = reason === 'idle' ? `the last one ended ${pause} ago` : 'a new day has begun'
      const text = `🔄 This is a new conversation, because ${why}. \`/resume\` returns to the earlier one.`
      const notice = {
        key: `reset:${newSessionId}`,
        target: targetOf(source),
        sessionKey,
        kind: 'notice',
        text,
      } as const
      yield* enlist(outbox.prepare(notice), now)
    }
    const note = `[Note of the gateway: a new conversation began automatically (reason: ${reason}; last activity ${pause} ago). You cannot see the earlier one.]`
    return { reason, note }
  }
}

/** Platforms keep what is written while the gateway does not run, for a day (Telegram) or until it is fetched. */
const maxDelayMs = 7 * 86_400_000

/** An implausible time of a platform does not count. */
function timeOfWriting({ timestamp }: MessageEvent, acceptedAt: number): number {
  return timestamp > acceptedAt - maxDelayMs ? Math.min(timestamp, acceptedAt) : acceptedAt
}
