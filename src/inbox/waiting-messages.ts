/**
 * The messages that wait in the queue of a conversation: how they were accepted, and what binds them to a turn that another
 * message has begun. Loaded when a message arrives while its conversation is busy.
 */
import type { QueueKind } from '../message/ids.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { exec, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { BusyMode, InboxState } from '../store/schema.ts'
import { openCondition } from './queries.ts'

export interface WaitingMessage {
  readonly seq: number
  readonly payload: string
  readonly state: InboxState
  readonly accepted_at: number
  readonly busy_mode: BusyMode | null
  readonly joins: number
  readonly tries: number
  readonly crashes: number
}

const columns = ['seq', 'payload', 'state', 'accepted_at', 'busy_mode', 'joins', 'tries', 'crashes'] as const

const selectWaiting = query((db, p: { session_key: string; after: number; limit: number }) =>
  db
    .selectFrom('inbox')
    .select(columns)
    .where('session_key', '=', p.session_key)
    .where('lane', '=', 'turn')
    .where(openCondition)
    .where('state', '=', 'queued')
    .where('seq', '>', p.after)
    .orderBy('seq')
    .limit(p.limit),
)

/** More messages than the largest queue has are never merged. */
const maxListed = 1_000

/** The queued messages of a session after the number `after`, the oldest first. */
export function* listWaitingMessages(session_key: string, after = 0): Transaction<readonly WaitingMessage[]> {
  return yield* rows(selectWaiting, { session_key, after, limit: maxListed })
}

const countOfAuthor = query((db, p: { session_key: string; lane: QueueKind; author: string }) =>
  db
    .selectFrom('inbox')
    .select((builder) => builder.fn.countAll<number>().as('total'))
    .select(sql<number>`count(*) filter (where coalesce(payload ->> '$.source.userId', '') = ${p.author})`.as('own'))
    .where('session_key', '=', p.session_key)
    .where('lane', '=', p.lane)
    .where(openCondition)
    .where('state', '=', 'queued'),
)

/** How many events of a queue wait, and how many of them one person has written. */
export function* countWaiting(
  session_key: string,
  lane: QueueKind,
  author: string | undefined,
): Transaction<{ readonly total: number; readonly own: number }> {
  return (yield* row(countOfAuthor, { session_key, lane, author: author ?? '' })) ?? { total: 0, own: 0 }
}

const selectLast = query((db, p: { session_key: string; before: number }) =>
  db
    .selectFrom('inbox')
    .select(columns)
    .where('session_key', '=', p.session_key)
    .where('lane', '=', 'turn')
    .where(openCondition)
    .where('seq', '<', p.before)
    .orderBy('seq', 'desc')
    .limit(1),
)

/** The newest open message of a session before the number `before`. */
export function* findPrecedingMessage(session_key: string, before: number): Transaction<WaitingMessage | undefined> {
  return yield* row(selectLast, { session_key, before })
}

const updateArrival = query((db, p: { seq: number; busy_mode: BusyMode; joins: 0 | 1 }) =>
  db.updateTable('inbox').set({ busy_mode: p.busy_mode, joins: p.joins }).where('seq', '=', p.seq),
)

/** Stores how a message was accepted. */
export function* setBusyMode(seq: number, busy_mode: BusyMode, joins: boolean): Transaction<void> {
  yield* exec(updateArrival, { seq, busy_mode, joins: joins ? 1 : 0 })
}

const updateQuietTime = query((db, p: { session_key: string; until: number; max: number }) =>
  db
    .updateTable('inbox')
    .set(({ fn, val, ref, eb }) => ({
      available_at: fn<number>('min', [val(p.until), eb(ref('accepted_at'), '+', p.max)]),
    }))
    .where('seq', '=', (head) =>
      head
        .selectFrom('inbox')
        .select((builder) => builder.fn.max<number>('seq').as('seq'))
        .where('session_key', '=', p.session_key)
        .where('lane', '=', 'turn')
        .where(openCondition)
        .where('state', '=', 'queued')
        .where('joins', '=', 0),
    )
    .returning('available_at'),
)

/** The newest group of messages waits until `until`, at most `max` ms after its first one. Returns that time. */
export function* delayNewestGroup(session_key: string, until: number, max: number): Transaction<number | undefined> {
  return (yield* row(updateQuietTime, { session_key, until, max }))?.available_at
}

const countTurns = query((db, p: { session_key: string; until: number }) =>
  db
    .selectFrom('inbox')
    .select((builder) => builder.fn.countAll<number>().as('count'))
    .where('session_key', '=', p.session_key)
    .where('lane', '=', 'turn')
    .where(openCondition)
    .where('state', '=', 'queued')
    .where('joins', '=', 0)
    .where('seq', '<=', p.until),
)

/** How many turns the waiting messages of a session begin, up to that of the message `until`. */
export function* countTurnsUntil(session_key: string, until: number): Transaction<number> {
  return (yield* row(countTurns, { session_key, until }))?.count ?? 0
}

const bind = query((db, p: { seq: number; turn_id: string }) =>
  db
    .updateTable('inbox')
    .set({ state: 'claimed', turn_id: p.turn_id, attempt_open: 0 })
    .where('seq', '=', p.seq)
    .where('state', '=', 'queued'),
)

/** The message belongs to a turn that another one has begun. The attempts are counted with that one. */
export function* bindMessage(seq: number, turn_id: string): Transaction<void> {
  yield* exec(bind, { seq, turn_id })
}

const updatePayload = query((db, p: { seq: number; payload: string }) =>
  db.updateTable('inbox').set({ payload: p.payload }).where('seq', '=', p.seq),
)

/** Replaces the stored event of a message with the one that was merged of several. */
export function* storeMergedEvent(seq: number, payload: string): Transaction<void> {
  yield* exec(updatePayload, { seq, payload })
}

const refuse = query((db, p: { seq: number; reason: string; outcome: string; busy_mode: BusyMode | null }) =>
  db
    .updateTable('inbox')
    .set({ state: 'dropped', reason: p.reason, outcome: p.outcome, busy_mode: p.busy_mode })
    .where('seq', '=', p.seq),
)

const refusalReason = 'the queue of the conversation was full'

/** Ends a message for which the queue has no room. With `needsNotice`, `takeRefused` finds it until its sender was told. */
export function* refuseMessage(seq: number, result: TurnResult, needsNotice: boolean): Transaction<void> {
  const busy_mode = needsNotice ? 'refused' : null
  yield* exec(refuse, { seq, reason: refusalReason, outcome: JSON.stringify(result), busy_mode })
}

// Literal, because SQLite uses a partial index only where a query repeats its condition word for word.
const isRefused = sql<boolean>`busy_mode = 'refused'`

const clearRefused = query((db, p: { session_key: string }) =>
  db
    .updateTable('inbox')
    .set({ busy_mode: null })
    .where('session_key', '=', p.session_key)
    .where(isRefused)
    .returning(['seq', 'payload']),
)

/** The refused messages of a session whose senders have not been told yet. They count as told from now on. */
export function* takeRefused(
  session_key: string,
): Transaction<readonly { readonly seq: number; readonly payload: string }[]> {
  return yield* rows(clearRefused, { session_key })
}
