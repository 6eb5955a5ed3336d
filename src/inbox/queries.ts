/**
 * The rows of the inbox: events, their keys, and the state of their processing.
 */
import type { QueueKind } from '../message/ids.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { exec, pick, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { Database, InboxState } from '../store/schema.ts'
import { parseStoredEvent } from './stored-event.ts'

// Literal SQL, because SQLite uses a partial index only where a query repeats its condition word for word.
export const openCondition = sql<boolean>`state in ('queued', 'claimed')`

const selectSeqByKey = query((db, p: { key: string }) =>
  db.selectFrom('inbox_keys').select('seq').where('key', '=', p.key),
)

const insertKey = query((db, p: { key: string; seq: number }) =>
  db
    .insertInto('inbox_keys')
    .values({ key: p.key, seq: p.seq })
    .onConflict((conflict) => conflict.doNothing()),
)

type NewRow = Pick<Database['inbox'], 'session_key' | 'lane' | 'kind' | 'platform' | 'account' | 'chat_id' | 'payload'>

const insertRow = query((db, p: NewRow & { now: number }) =>
  db
    .insertInto('inbox')
    .values({
      ...pick(p, 'session_key', 'lane', 'kind', 'platform', 'account', 'chat_id', 'payload'),
      state: 'queued',
      turn_id: null,
      available_at: p.now,
      accepted_at: p.now,
      reason: null,
      outcome: null,
    })
    .returning('seq'),
)

export interface NewEvent {
  readonly sessionKey: string
  readonly lane: QueueKind
  readonly kind: string
  readonly platform: string
  readonly account: string
  readonly chatId: string
  readonly payload: string
}

/** The event with one of these keys. */
export function* findSeqByKeys(keys: readonly string[]): Transaction<number | undefined> {
  for (const key of keys) {
    const known = yield* row(selectSeqByKey, { key })
    if (known !== undefined) return known.seq
  }
  return undefined
}

/** Adds keys to an event, by which it is recognised from now on. */
export function* addKeys(keys: readonly string[], seq: number): Transaction<void> {
  for (const key of keys) yield* exec(insertKey, { key, seq })
}

/** Adds an event to the end of its queue; returns its number. */
export function* insertEvent(event: NewEvent, now: number): Transaction<number> {
  const inserted = yield* row(insertRow, {
    session_key: event.sessionKey,
    lane: event.lane,
    kind: event.kind,
    platform: event.platform,
    account: event.account,
    chat_id: event.chatId,
    payload: event.payload,
    now,
  })
  if (inserted === undefined) throw new Error('the database returned no sequence number')
  return inserted.seq
}

/** Stores an event unless one of its keys is known, and adds its other keys in both cases. */
export function* acceptEvent(
  event: NewEvent,
  keys: readonly string[],
  now: number,
): Transaction<{ seq: number; duplicate: boolean }> {
  const known = yield* findSeqByKeys(keys)
  const seq = known ?? (yield* insertEvent(event, now))
  yield* addKeys(keys, seq)
  return { seq, duplicate: known !== undefined }
}

const selectQueueHead = query((db, p: { session_key: string; lane: QueueKind; from: number }) =>
  db
    .selectFrom('inbox')
    .select([
      'seq',
      'payload',
      'tries',
      'crashes',
      'own_crashes',
      'state',
      'reason',
      'available_at',
      'joins',
      'accepted_at',
    ])
    .where('session_key', '=', p.session_key)
    .where('lane', '=', p.lane)
    .where(openCondition)
    .where('seq', '>=', p.from)
    .orderBy('seq')
    .limit(2),
)

export interface QueueHead {
  readonly seq: number
  readonly payload: string
  readonly tries: number
  readonly crashes: number
  readonly own_crashes: number
  readonly state: InboxState
  readonly reason: string | null
  /** It is not claimed before this time, ms. */
  readonly available_at: number
  /** ms */
  readonly accepted_at: number
  /** The next event belongs to the same turn. */
  readonly isJoined: boolean
  /** No other event of the queue waits. */
  readonly isLast: boolean
}

/** The oldest open event of a queue. */
export function* findQueueHead(sessionKey: string, lane: QueueKind): Transaction<QueueHead | undefined> {
  const [head, next] = yield* rows(selectQueueHead, { session_key: sessionKey, lane, from: 0 })
  return head === undefined ? undefined : { ...head, isJoined: next?.joins === 1, isLast: next === undefined }
}

/** The kind of control events that are taken before the others of their queue, such as `/stop`. */
export const urgentKind = 'urgent'

const selectUrgent = query((db, p: { session_key: string }) =>
  db
    .selectFrom('inbox')
    .select('seq')
    .where('session_key', '=', p.session_key)
    .where('lane', '=', 'control')
    .where(openCondition)
    .where('kind', '=', urgentKind)
    .orderBy('seq')
    .limit(1),
)

const selectLaterUrgent = query((db, p: { session_key: string; seq: number }) =>
  db
    .selectFrom('inbox')
    .select('payload')
    .where('session_key', '=', p.session_key)
    .where('lane', '=', 'control')
    .where('kind', '=', urgentKind)
    .where('seq', '>', p.seq)
    .orderBy('seq')
    .limit(20),
)

/** The stored urgent events of a session that arrived after an event, whether they have ended or not; the oldest first. */
export function* laterUrgentEvents(sessionKey: string, seq: number): Transaction<readonly string[]> {
  return (yield* rows(selectLaterUrgent, { session_key: sessionKey, seq })).map(({ payload }) => payload)
}

/** The event of the control queue that runs next: the oldest urgent one, or else the oldest. */
export function* findCommand(sessionKey: string): Transaction<QueueHead | undefined> {
  const urgent = yield* row(selectUrgent, { session_key: sessionKey })
  const from = urgent?.seq ?? 0
  const [head] = yield* rows(selectQueueHead, { session_key: sessionKey, lane: 'control', from })
  return head === undefined ? undefined : { ...head, isJoined: false, isLast: false }
}

const markClaimed = query((db, p: { seq: number; turn_id: string | null }) =>
  db.updateTable('inbox').set({ state: 'claimed', turn_id: p.turn_id, attempt_open: 1 }).where('seq', '=', p.seq),
)

/** Begins an attempt (attempts.ts) and assigns the event to its turn. */
export function* claimEvent(seq: number, turnId: string | null): Transaction<void> {
  yield* exec(markClaimed, { seq, turn_id: turnId })
}

const updateState = query((db, p: { seq: number; state: InboxState; reason: string | null; outcome: string | null }) =>
  db
    .updateTable('inbox')
    .set({ state: p.state, reason: p.reason, outcome: p.outcome, attempt_open: 0 })
    .where('seq', '=', p.seq),
)

/** The result of an event that no model has answered. */
export function resultWithoutModel(status: TurnResult['status'], text = ''): TurnResult {
  return { status, text, sessionId: '', model: '', usage: { inputTokens: 0, outputTokens: 0 } }
}

/** Stores the result of an event. */
export function* finishEvent(seq: number, result: TurnResult): Transaction<void> {
  yield* exec(updateState, { seq, state: 'done', reason: null, outcome: JSON.stringify(result) })
}

const detachNext = query((db, p: { seq: number; session_key: string }) =>
  db
    .updateTable('inbox')
    .set({ joins: 0 })
    .where('seq', '=', (next) =>
      next
        .selectFrom('inbox')
        .select((builder) => builder.fn.min<number>('seq').as('seq'))
        .where('session_key', '=', p.session_key)
        .where('lane', '=', 'turn')
        .where(openCondition)
        .where('seq', '>', p.seq),
    )
    .where((gone) => gone.selectFrom('inbox').select('joins').where('seq', '=', p.seq), '=', 0),
)

/**
 * For a queued event that will not begin a turn: the next event, which may join it, begins the turn of the others that do. It
 * would otherwise join an earlier one.
 */
export function* detachFollowing(seq: number, session_key: string): Transaction<void> {
  yield* exec(detachNext, { seq, session_key })
}

const updateInputsOfTurn = query((db, p: { turn_id: string; outcome: string }) =>
  db
    .updateTable('inbox')
    .set({ state: 'done', reason: null, outcome: p.outcome, attempt_open: 0 })
    .where('seq', 'in', (inputs) => inputs.selectFrom('turn_inputs').select('seq').where('turn_id', '=', p.turn_id))
    .returning('seq'),
)

/** Stores the result of a turn for all its events; returns their numbers. */
export function* finishEventsOfTurn(turn_id: string, result: TurnResult): Transaction<readonly number[]> {
  const finished = yield* rows(updateInputsOfTurn, { turn_id, outcome: JSON.stringify(result) })
  return finished.map(({ seq }) => seq)
}

/** Makes the event a dead letter: its attempts are used up, and it waits for a user's decision. */
export function* markEventDead(seq: number, reason: string, result: TurnResult): Transaction<void> {
  yield* exec(updateState, { seq, state: 'dead', reason, outcome: JSON.stringify(result) })
}

const selectState = query((db, p: { seq: number }) =>
  db.selectFrom('inbox').select(['state', 'outcome', 'session_key', 'lane', 'turn_id']).where('seq', '=', p.seq),
)

export function* findEventState(seq: number): Transaction<
  | {
      state: InboxState
      outcome: string | null
      session_key: string
      lane: string
      turn_id: string | null
    }
  | undefined
> {
  return yield* row(selectState, { seq })
}

const selectKind = query((db, p: { seq: number }) => db.selectFrom('inbox').select('kind').where('seq', '=', p.seq))

const selectPayload = query((db, p: { seq: number }) =>
  db.selectFrom('inbox').select('payload').where('seq', '=', p.seq),
)

/** A stored event as JSON. */
export function* findEventPayload(seq: number): Transaction<string | undefined> {
  return (yield* row(selectPayload, { seq }))?.payload
}

/** The kind of a stored event. */
export function* findEventKind(seq: number): Transaction<string | undefined> {
  return (yield* row(selectKind, { seq }))?.kind
}

const selectOpenQueues = query((db, _: Record<never, never>) =>
  db.selectFrom('inbox').select(['session_key', 'lane']).distinct().where(openCondition),
)

/** The queues with open events, for the start after a stop or a crash. */
export function* listOpenQueues(): Transaction<readonly { session_key: string; lane: QueueKind }[]> {
  return yield* rows(selectOpenQueues, {})
}

const selectRefused = query((db, _: Record<never, never>) =>
  db.selectFrom('inbox').select('session_key').distinct().where(sql<boolean>`busy_mode = 'refused'`),
)

/** The sessions with messages that the queue had no room for, and whose senders have not been told yet. */
export function* listSessionsWithRefused(): Transaction<readonly string[]> {
  return (yield* rows(selectRefused, {})).map(({ session_key }) => session_key)
}

const selectOpenTurnEvents = query((db, _: Record<never, never>) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'session_key', 'turn_id', 'payload'])
    .where('lane', '=', 'turn')
    .where(openCondition)
    .orderBy('seq'),
)

/** The open events that begin turns or belong to them, the oldest first. */
export function* listOpenTurnEvents(): Transaction<
  readonly {
    readonly seq: number
    readonly session_key: string
    readonly turn_id: string | null
    readonly payload: string
  }[]
> {
  return yield* rows(selectOpenTurnEvents, {})
}

const selectOpenEvents = query((db, p: { platform: string }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'payload'])
    .where('platform', '=', p.platform)
    .where(openCondition)
    .orderBy('seq'),
)

/** The open events of a platform, the oldest first. */
export function* listOpenEventsOfPlatform(platform: string): Transaction<readonly { seq: number; payload: string }[]> {
  return yield* rows(selectOpenEvents, { platform })
}

const selectQueuedCount = query((db, p: { session_key: string }) =>
  db
    .selectFrom('inbox')
    .select((count) => count.fn.countAll<number>().as('count'))
    .where('session_key', '=', p.session_key)
    .where('lane', '=', 'turn')
    .where(openCondition)
    .where('state', '=', 'queued'),
)

export function* countQueuedEvents(sessionKey: string): Transaction<number> {
  return (yield* row(selectQueuedCount, { session_key: sessionKey }))?.count ?? 0
}

const selectOldestFinished = query((db, p: { limit: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'accepted_at'])
    // True for every row. Makes SQLite walk the primary key from the oldest row and stop at the limit.
    .where('seq', '>', 0)
    .where('state', 'in', ['done', 'dropped'])
    .orderBy('seq')
    .limit(p.limit),
)

const deleteKeys = query((db, p: { seq: number }) =>
  db
    .deleteFrom('inbox_keys')
    .where('seq', 'in', (old) =>
      old.selectFrom('inbox').select('seq').where('seq', '<=', p.seq).where('state', 'in', ['done', 'dropped']),
    ),
)

const deleteEvents = query((db, p: { seq: number }) =>
  db.deleteFrom('inbox').where('seq', '<=', p.seq).where('state', 'in', ['done', 'dropped']).returning('seq'),
)

/** Deletes the oldest finished events accepted before `before`, at most `limit`; returns how many. */
export function* pruneInbox(before: number, limit: number): Transaction<number> {
  const first = yield* rows(selectOldestFinished, { limit })
  const last = first.findLast(({ accepted_at }) => accepted_at < before)
  if (last === undefined) return 0
  yield* exec(deleteKeys, { seq: last.seq })
  return (yield* rows(deleteEvents, { seq: last.seq })).length
}

const selectPayloadsOfConversation = query((db, p: { turn: string; pattern: string }) =>
  db
    .selectFrom('inbox')
    .select('payload')
    .where('session_key', '=', (turns) => turns.selectFrom('turns').select('session_key').where('id', '=', p.turn))
    .where('payload', 'like', p.pattern),
)

const selectOpenPayloads = query((db, p: { pattern: string }) =>
  db.selectFrom('inbox').select('payload').where(openCondition).where('payload', 'like', p.pattern),
)

const attachmentPattern = '%"attachments":[%"path":%'

/** Paths of the downloaded files of messages that wait or are processed. */
export function* findOpenAttachmentPaths(): Transaction<readonly string[]> {
  return attachmentPathsIn(yield* rows(selectOpenPayloads, { pattern: attachmentPattern }))
}

function attachmentPathsIn(events: readonly { readonly payload: string }[]): string[] {
  return events.flatMap(({ payload }) =>
    (parseStoredEvent(payload).attachments ?? []).flatMap(({ path }) => (path === undefined ? [] : [path])),
  )
}

/** Paths of the downloaded files of the conversation to which the turn belongs. */
export function* findAttachmentPaths(turnId: string): Transaction<readonly string[]> {
  return attachmentPathsIn(yield* rows(selectPayloadsOfConversation, { turn: turnId, pattern: attachmentPattern }))
}
