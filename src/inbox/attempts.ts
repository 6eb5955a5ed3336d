/**
 * Attempts to process an event. Failures are counted, restarts are not: an orderly stop, and waiting for a person or for the
 * model's provider, closes an attempt without counting it; progress resets the count. After a crash, an event is blamed only
 * if no other event can have caused it.
 */
import { exec, query, rows, sql, type Transaction } from '../store/query.ts'
import { openCondition } from './queries.ts'

/** Failed attempts before an event becomes a dead letter. */
const maxAttempts = 3
/** Crashes without progress during which other events were processed, too, before an event becomes a dead letter. */
const maxSharedCrashes = 12
/** From this number of shared crashes on, an event is a suspect. */
const suspiciousCrashes = 2

/** The pause before the next attempt, by the number of crashes that the event alone can have caused. */
const pausesMs: readonly number[] = [0, 0, 5 * 60_000]

export interface AttemptCounts {
  readonly tries: number
  readonly crashes: number
}

export function attemptsExhausted({ tries, crashes }: AttemptCounts): boolean {
  return tries >= maxAttempts || crashes >= maxSharedCrashes
}

/** Whether the event may be what ends the gateway. */
function isSuspect({ tries, crashes }: AttemptCounts): boolean {
  return tries > 0 || crashes >= suspiciousCrashes
}

const updateFailure = query((db, p: { seq: number; reason: string; failures: number }) =>
  db
    .updateTable('inbox')
    .set((column) => ({ reason: p.reason, tries: column('tries', '+', p.failures), attempt_open: 0 }))
    .where('seq', '=', p.seq)
    .where('state', '=', 'claimed'),
)

/** Ends an attempt that failed and stores why. A failure that is not the event's own is not counted. */
export function* recordFailedAttempt(seq: number, reason: string, isCounted: boolean): Transaction<void> {
  yield* exec(updateFailure, { seq, reason, failures: isCounted ? 1 : 0 })
}

const postpone = query((db, p: { seq: number; until: number; reason: string }) =>
  db
    .updateTable('inbox')
    .set({ available_at: p.until, reason: p.reason, attempt_open: 0 })
    .where('seq', '=', p.seq)
    .where('state', '=', 'claimed'),
)

/** Ends an attempt without counting it. The next one begins at `until` or later. */
export function* postponeAttempt(seq: number, until: number, reason: string): Transaction<void> {
  yield* exec(postpone, { seq, until, reason })
}

const clearCounts = query((db, p: { seq: number }) =>
  db.updateTable('inbox').set({ tries: 0, crashes: 0 }).where('seq', '=', p.seq).where('state', '=', 'claimed'),
)

/** The attempt has stored a response of the model or a result of a tool. */
export function* recordProgress(seq: number): Transaction<void> {
  yield* exec(clearCounts, { seq })
}

const updateAttempt = query((db, p: { session_key: string; attempt_open: 0 | 1 }) =>
  db
    .updateTable('inbox')
    .set({ attempt_open: p.attempt_open })
    .where('session_key', '=', p.session_key)
    .where('lane', '=', 'turn')
    .where(openCondition)
    .where('state', '=', 'claimed'),
)

/** A crash from now on does not concern the turn of this session: it waits. */
export function* pauseAttempt(sessionKey: string): Transaction<void> {
  yield* exec(updateAttempt, { session_key: sessionKey, attempt_open: 0 })
}

/** The turn of this session works again. */
export function* continueAttempt(sessionKey: string): Transaction<void> {
  yield* exec(updateAttempt, { session_key: sessionKey, attempt_open: 1 })
}

const closeAttempts = query((db, _: Record<never, never>) =>
  db.updateTable('inbox').set({ attempt_open: 0 }).where(openCondition).where('attempt_open', '=', 1),
)

/** The gateway stops in an orderly way: what it interrupts is not counted, even if the process is killed meanwhile. */
export function* closeAllAttempts(): Transaction<void> {
  yield* exec(closeAttempts, {})
}

const selectInterrupted = query((db, _: Record<never, never>) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'session_key', 'tries', 'crashes'])
    .where(openCondition)
    .where('attempt_open', '=', 1)
    .orderBy('seq'),
)

const blame = query((db, p: { seq: number; available_at: number; reason: string }) =>
  db
    .updateTable('inbox')
    .set((column) => ({ tries: column('tries', '+', 1), available_at: p.available_at, reason: p.reason }))
    .where('seq', '=', p.seq),
)

const countSharedCrash = query((db, p: { seq: number; reason: string }) =>
  db
    .updateTable('inbox')
    .set((column) => ({ crashes: column('crashes', '+', 1), reason: p.reason }))
    .where('seq', '=', p.seq),
)

const closeAttempt = query((db, p: { seq: number }) =>
  db.updateTable('inbox').set({ attempt_open: 0 }).where('seq', '=', p.seq),
)

const crashReason = 'the gateway ended unexpectedly while it processed the message'

/**
 * Attributes the crash of the last process, if there was one, and returns how many attempts it interrupted. A suspect is
 * blamed before other events. Several events that may have caused the crash are not blamed, but become suspects in time.
 */
export function* assessCrash(isOwn: (sessionKey: string) => boolean, now: number): Transaction<number> {
  const interrupted = (yield* rows(selectInterrupted, {})).filter(({ session_key }) => isOwn(session_key))
  const suspects = interrupted.filter(isSuspect)
  const candidates = suspects.length > 0 ? suspects : interrupted
  for (const { seq, tries } of candidates) {
    if (candidates.length > 1) yield* exec(countSharedCrash, { seq, reason: crashReason })
    else yield* exec(blame, { seq, available_at: now + (pausesMs[tries + 1] ?? 0), reason: crashReason })
  }
  for (const { seq } of interrupted) yield* exec(closeAttempt, { seq })
  return interrupted.length
}

const selectSuspects = query((db, p: { crashes: number }) =>
  db
    .selectFrom('inbox')
    .select('session_key')
    .where(openCondition)
    .where('lane', '=', 'turn')
    .where('state', '=', 'claimed')
    .where(sql<boolean>`(tries > 0 or crashes >= ${p.crashes})`)
    .orderBy('tries')
    .orderBy('crashes')
    .orderBy('seq'),
)

/** The sessions whose turn may be what ends the gateway, the least suspicious first. */
export function* listSuspectSessions(): Transaction<readonly string[]> {
  return (yield* rows(selectSuspects, { crashes: suspiciousCrashes })).map(({ session_key }) => session_key)
}
