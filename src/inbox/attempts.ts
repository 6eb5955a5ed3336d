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

/** Crashes that only the event can have caused before it becomes a dead letter, although it made progress between them. */
const maxOwnCrashes = 20

export type AttemptCounts = Readonly<Record<'tries' | 'crashes' | 'own_crashes', number>>

export function attemptsExhausted({ tries, crashes, own_crashes }: AttemptCounts): boolean {
  return tries >= maxAttempts || crashes >= maxSharedCrashes || own_crashes >= maxOwnCrashes
}

/** A crash loop is slow, also if the event makes progress between the crashes. */
const crashPauseMs = 5 * 60_000

/** The pause before the next attempt, after a crash that only the event can have caused. The first two follow at once. */
function pauseMs({ tries, crashes, own_crashes }: AttemptCounts): number {
  const next = { tries: tries + 1, crashes, own_crashes: own_crashes + 1 }
  // A dead letter is reported at once.
  if (attemptsExhausted(next)) return 0
  return next.tries >= 2 || next.own_crashes >= 3 ? crashPauseMs : 0
}

/** Whether the event may be what ends the gateway. */
function isSuspect({ tries, crashes }: Pick<AttemptCounts, 'tries' | 'crashes'>): boolean {
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

const updateAttempt = query((db, p: { seq: number; from: 0 | 1; to: 0 | 1 }) =>
  db
    .updateTable('inbox')
    .set({ attempt_open: p.to })
    .where('seq', '=', p.seq)
    .where('state', '=', 'claimed')
    .where('attempt_open', '=', p.from),
)

/** A crash from now on does not concern the event: its turn waits. */
export function* pauseAttempt(seq: number): Transaction<void> {
  yield* exec(updateAttempt, { seq, from: 1, to: 0 })
}

/** The turn of the event works again. */
export function* continueAttempt(seq: number): Transaction<void> {
  yield* exec(updateAttempt, { seq, from: 0, to: 1 })
}

const updatePreparation = query((db, p: { seq: number; attempt_open: 0 | 1 }) =>
  db
    .updateTable('inbox')
    .set({ attempt_open: p.attempt_open })
    .where('seq', '=', p.seq)
    .where('state', '=', 'queued')
    .where('attempt_open', '!=', p.attempt_open),
)

/** Files of a queued event are prepared from now on. A crash meanwhile counts as one during its turn. */
export function* beginPreparation(seq: number): Transaction<void> {
  yield* exec(updatePreparation, { seq, attempt_open: 1 })
}

/** The files are stored. */
export function* endPreparation(seq: number): Transaction<void> {
  yield* exec(updatePreparation, { seq, attempt_open: 0 })
}

const closeAttempts = query((db, _: Record<never, never>) =>
  db
    .updateTable('inbox')
    .set({ attempt_open: 2 })
    .where(openCondition)
    .where(sql<boolean>`(state = 'claimed' or attempt_open = 1)`),
)

/**
 * The gateway stops in an orderly way: what it interrupts is not counted, even if the process is killed meanwhile. Turns that
 * use the rest of their time do not open their attempts again.
 */
export function* closeAllAttempts(): Transaction<void> {
  yield* exec(closeAttempts, {})
}

const selectInterrupted = query((db, _: Record<never, never>) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'session_key', 'tries', 'crashes', 'own_crashes'])
    .where(openCondition)
    .where('attempt_open', '=', 1)
    .orderBy('seq'),
)

const countOwnCrash = query((db, p: { seq: number; available_at: number; reason: string }) =>
  db
    .updateTable('inbox')
    .set((column) => ({
      tries: column('tries', '+', 1),
      own_crashes: column('own_crashes', '+', 1),
      available_at: p.available_at,
      reason: p.reason,
    }))
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
  for (const candidate of candidates) {
    const { seq } = candidate
    if (candidates.length > 1) yield* exec(countSharedCrash, { seq, reason: crashReason })
    else yield* exec(countOwnCrash, { seq, available_at: now + pauseMs(candidate), reason: crashReason })
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
    .where(sql<boolean>`(tries > 0 or crashes >= ${p.crashes})`)
    .orderBy('tries')
    .orderBy('crashes')
    .orderBy('seq'),
)

/** The sessions whose turn, or the preparation of it, may be what ends the gateway, the least suspicious first. */
export function* listSuspectSessions(): Transaction<readonly string[]> {
  return (yield* rows(selectSuspects, { crashes: suspiciousCrashes })).map(({ session_key }) => session_key)
}
