/**
 * Queries and transactions for turns and their tool calls.
 */
import type { ToolMode } from '../message/transcript.ts'
import { deleteOldest, exec, pick, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { TurnState } from '../store/schema.ts'

// Literal, because SQLite uses a partial index only when the query repeats its condition verbatim.
const isOpen = sql<boolean>`turns.state in ('running', 'waiting')`

/** The open turns of all conversations, the oldest first, with the tool that each one runs now. */
export const listOpenTurns = query((db, p: { limit: number }) =>
  db
    .selectFrom('turns')
    .leftJoin('sessions', 'sessions.id', 'turns.session_id')
    .select(['turns.id', 'turns.session_key', 'turns.session_id', 'turns.state', 'turns.origin', 'turns.model'])
    .select(['turns.started_at', 'turns.stop_requested', 'turns.outage_since', 'sessions.title'])
    .select((turn) =>
      turn
        .selectFrom('tool_calls')
        .select('name')
        .whereRef('turn_id', '=', 'turns.id')
        .where('state', '=', 'started')
        .orderBy('started_at', 'desc')
        .limit(1)
        .as('tool'),
    )
    .where(isOpen)
    .orderBy('turns.started_at')
    .limit(p.limit),
)

const insertTurn = query(
  (
    db,
    p: {
      id: string
      session_key: string
      session_id: string
      epoch: number
      origin: string
      authority: string
      route: string
      now: number
    },
  ) =>
    db.insertInto('turns').values({
      ...pick(p, 'id', 'session_key', 'session_id', 'epoch'),
      state: 'running',
      ...pick(p, 'origin', 'authority', 'route'),
      reason: null,
      started_at: p.now,
      ended_at: null,
    }),
)

const insertInput = query((db, p: { turn_id: string; seq: number }) =>
  db.insertInto('turn_inputs').values({ turn_id: p.turn_id, seq: p.seq, how: 'head' }),
)

export interface NewTurn {
  readonly id: string
  readonly sessionKey: string
  readonly sessionId: string
  readonly epoch: number
  readonly seq: number
  /** `SessionSource`, JSON. */
  readonly origin: string
  readonly authority: string
  readonly route: string
}

export function* beginTurn(turn: NewTurn, now: number): Transaction<void> {
  const { id, sessionKey: session_key, sessionId: session_id, epoch, origin, authority, route } = turn
  yield* exec(insertTurn, { id, session_key, session_id, epoch, origin, authority, route, now })
  yield* exec(insertInput, { turn_id: id, seq: turn.seq })
}

const selectOpenTurn = query((db, p: { session_key: string }) =>
  db
    .selectFrom('turns')
    .innerJoin('turn_inputs', 'turn_inputs.turn_id', 'turns.id')
    .innerJoin('inbox', 'inbox.seq', 'turn_inputs.seq')
    .select([
      'turns.id',
      'turns.session_id',
      'turns.stop_requested',
      'turns.interrupted_by',
      'turns.started_at',
      'inbox.seq',
      'turns.outage_since',
      'inbox.tries',
      'inbox.crashes',
      'inbox.own_crashes',
      'inbox.available_at',
      'inbox.payload',
      'inbox.reason',
    ])
    .where('turns.session_key', '=', p.session_key)
    .where('turn_inputs.how', '=', 'head')
    .where(isOpen)
    .orderBy('inbox.seq')
    .limit(1),
)

export interface OpenTurn {
  readonly id: string
  readonly session_id: string
  readonly stop_requested: number
  /** The number of the message that ends the turn early. */
  readonly interrupted_by: number | null
  readonly started_at: number
  readonly seq: number
  readonly outage_since: number | null
  readonly tries: number
  readonly crashes: number
  readonly own_crashes: number
  readonly available_at: number
  readonly payload: string
  readonly reason: string | null
}

/** The turn of a session that has not ended, with the event that started it. */
export function* findOpenTurn(sessionKey: string): Transaction<OpenTurn | undefined> {
  return yield* row(selectOpenTurn, { session_key: sessionKey })
}

const selectTurnIfOpen = query((db, p: { id: string }) =>
  db.selectFrom('turns').select(['id', 'session_key']).where('id', '=', p.id).where(isOpen),
)

/** The session key of a turn; undefined when the turn does not exist or has ended. */
export function* sessionKeyOfOpenTurn(id: string): Transaction<string | undefined> {
  return (yield* row(selectTurnIfOpen, { id }))?.session_key
}

const selectOpenTurnKeys = query((db, _: Record<never, never>) =>
  db.selectFrom('turns').select('session_key').where(isOpen),
)

/** Sessions whose turn was interrupted by a shutdown or a crash. */
export function* sessionsWithOpenTurns(): Transaction<readonly string[]> {
  return (yield* rows(selectOpenTurnKeys, {})).map((turn) => turn.session_key)
}

const updateTurnEpoch = query((db, p: { id: string; epoch: number }) =>
  db.updateTable('turns').set({ epoch: p.epoch }).where('id', '=', p.id),
)

export function* resumeTurn(id: string, epoch: number): Transaction<void> {
  yield* exec(updateTurnEpoch, { id, epoch })
}

const updateTurnEnd = query(
  (db, p: { id: string; state: TurnState; reason: string | null; model: string; provider: string; now: number }) =>
    db
      .updateTable('turns')
      .set({ state: p.state, reason: p.reason, model: p.model, provider: p.provider, ended_at: p.now })
      .where('id', '=', p.id)
      .where(isOpen),
)

export interface FinalTurnState {
  readonly state: 'done' | 'failed' | 'stopped' | 'interrupted'
  readonly reason: string | null
  readonly model: string
  readonly provider: string
}

export function* endTurn(id: string, final: FinalTurnState, now: number): Transaction<void> {
  yield* exec(updateTurnEnd, {
    id,
    state: final.state,
    reason: final.reason,
    model: final.model,
    provider: final.provider,
    now,
  })
}

const setOutage = query((db, p: { id: string; since: number }) =>
  db.updateTable('turns').set({ outage_since: p.since }).where('id', '=', p.id).where('outage_since', 'is', null),
)

/** The provider of the model does not answer this turn. A known beginning of the outage stays. */
export function* beginOutage(id: string, since: number): Transaction<void> {
  yield* exec(setOutage, { id, since })
}

const clearOutage = query((db, p: { id: string }) =>
  db.updateTable('turns').set({ outage_since: null }).where('id', '=', p.id),
)

/** The provider of the model answers this turn again. */
export function* endOutage(id: string): Transaction<void> {
  yield* exec(clearOutage, { id })
}

const requestStop = query((db, p: { session_key: string }) =>
  db
    .updateTable('turns')
    .set({ stop_requested: 1 })
    .where('session_key', '=', p.session_key)
    .where(isOpen)
    .returning('id'),
)

/** Records that the open turn must stop, so that a crash does not resume it. Undefined when no turn is open. */
export function* requestTurnStop(sessionKey: string): Transaction<string | undefined> {
  return (yield* row(requestStop, { session_key: sessionKey }))?.id
}

const requestInterruption = query((db, p: { id: string; seq: number }) =>
  db
    .updateTable('turns')
    .set({ interrupted_by: p.seq })
    .where('id', '=', p.id)
    .where('interrupted_by', 'is', null)
    .where(isOpen),
)

/** Records that the message `seq` ends the open turn, so that a crash does not resume it. The first message counts. */
export function* interruptTurn(id: string, seq: number): Transaction<void> {
  yield* exec(requestInterruption, { id, seq })
}

const insertAbsorbedInput = query((db, p: { turn_id: string; seq: number; how: 'merged' | 'steered' }) =>
  db.insertInto('turn_inputs').values({ turn_id: p.turn_id, seq: p.seq, how: p.how }),
)

/** Binds another message to a turn. It ends with the turn. */
export function* addTurnInput(turn_id: string, seq: number, how: 'merged' | 'steered'): Transaction<void> {
  yield* exec(insertAbsorbedInput, { turn_id, seq, how })
}

const selectRunningTools = query((db, p: { turn_id: string }) =>
  db
    .selectFrom('tool_calls')
    .select('name')
    .where('turn_id', '=', p.turn_id)
    .where('state', '=', 'started')
    .orderBy('started_at'),
)

/** The names of the tools that a turn runs now. */
export function* listRunningTools(turn_id: string): Transaction<readonly string[]> {
  return (yield* rows(selectRunningTools, { turn_id })).map(({ name }) => name)
}

const selectToolCall = query((db, p: { turn_id: string; call_id: string }) =>
  db
    .selectFrom('tool_calls')
    .select(['state', 'mode', 'result'])
    .where('turn_id', '=', p.turn_id)
    .where('call_id', '=', p.call_id),
)

const insertToolCall = query(
  (db, p: { turn_id: string; call_id: string; name: string; args_hash: string; mode: ToolMode; now: number }) =>
    db
      .insertInto('tool_calls')
      .values({
        ...pick(p, 'turn_id', 'call_id', 'name', 'args_hash', 'mode'),
        state: 'started',
        result: null,
        late_result: null,
        started_at: p.now,
        ended_at: null,
      })
      .onConflict((conflict) => conflict.doNothing()),
)

const markToolCallAsEffect = query((db, p: { turn_id: string; call_id: string; args_hash: string }) =>
  db
    .updateTable('tool_calls')
    .set({ mode: 'effect', args_hash: p.args_hash })
    .where('turn_id', '=', p.turn_id)
    .where('call_id', '=', p.call_id),
)

export interface ToolCallStart {
  readonly turnId: string
  readonly callId: string
  readonly name: string
  readonly argsHash: string
  readonly mode: ToolMode
}

/** Whether the call was started in mode `effect`. */
export function* wasEffectStarted(turnId: string, callId: string): Transaction<boolean> {
  return (yield* row(selectToolCall, { turn_id: turnId, call_id: callId }))?.mode === 'effect'
}

/**
 * Returns 'unknown' when a call in mode `effect` was started before a crash: it must not run again. A plugin may rewrite a
 * call so that it has an effect now; its mode then becomes `effect`.
 */
export function* startToolCall(call: ToolCallStart, now: number): Transaction<'run' | 'unknown'> {
  const { turnId: turn_id, callId: call_id, name, argsHash: args_hash, mode } = call
  const stored = yield* row(selectToolCall, { turn_id, call_id })
  if (stored?.mode === 'effect') return 'unknown'
  if (stored === undefined) yield* exec(insertToolCall, { turn_id, call_id, name, args_hash, mode, now })
  else if (mode === 'effect') yield* exec(markToolCallAsEffect, { turn_id, call_id, args_hash })
  return 'run'
}

const updateToolCallEnd = query(
  (db, p: { turn_id: string; call_id: string; state: 'done' | 'interrupted'; result: string | null; now: number }) =>
    db
      .updateTable('tool_calls')
      .set({ state: p.state, result: p.result, ended_at: p.now })
      .where('turn_id', '=', p.turn_id)
      .where('call_id', '=', p.call_id),
)

/**
 * Stores the final state of a call. The same transaction writes the result to the transcript.
 * @param line JSON of what people read of the call, without secrets (`StoredCallLine`); null for none
 */
export function* endToolCall(
  turnId: string,
  callId: string,
  state: 'done' | 'interrupted',
  line: string | null,
  now: number,
): Transaction<void> {
  yield* exec(updateToolCallEnd, { turn_id: turnId, call_id: callId, state, result: line, now })
}

const selectRunningCall = query((db, p: { session_key: string }) =>
  db
    .selectFrom('turns')
    .innerJoin('turn_inputs', 'turn_inputs.turn_id', 'turns.id')
    .leftJoin('tool_calls', (join) =>
      join
        .onRef('tool_calls.turn_id', '=', 'turns.id')
        .on('tool_calls.state', '=', 'started')
        // It only waits.
        .on('tool_calls.name', '!=', 'clarify'),
    )
    .select(['turn_inputs.seq', 'tool_calls.call_id'])
    .where('turns.session_key', '=', p.session_key)
    .where('turn_inputs.how', '=', 'head')
    .where(isOpen)
    .limit(1),
)

/** The event of the open turn of a session, and whether one of its tools is running. */
export function* findTurnActivity(
  sessionKey: string,
): Transaction<{ readonly seq: number; readonly runsTool: boolean } | undefined> {
  const stored = yield* row(selectRunningCall, { session_key: sessionKey })
  return stored === undefined ? undefined : { seq: stored.seq, runsTool: stored.call_id !== null }
}

const updateLateResult = query((db, p: { turn_id: string; call_id: string; late: string; now: number }) =>
  db
    .updateTable('tool_calls')
    .set({ late_result: p.late, ended_at: p.now })
    .where('turn_id', '=', p.turn_id)
    .where('call_id', '=', p.call_id),
)

/** Stores a result that arrived after its turn was superseded, for diagnosis only. */
export function* storeLateResult(turnId: string, callId: string, result: string, now: number): Transaction<void> {
  yield* exec(updateLateResult, { turn_id: turnId, call_id: callId, late: result, now })
}

const deleteOldTurns = deleteOldest('turns', 'started_at', sql`ended_at is not null`)

const deleteTurnInputs = query((db, p: { turn_id: string }) =>
  db.deleteFrom('turn_inputs').where('turn_id', '=', p.turn_id),
)
const deleteToolCalls = query((db, p: { turn_id: string }) =>
  db.deleteFrom('tool_calls').where('turn_id', '=', p.turn_id),
)
const deleteTrace = query((db, p: { turn_id: string }) => db.deleteFrom('trace').where('turn_id', '=', p.turn_id))

/** Deletes the rows of ended turns that started before `before`, and returns their number. The transcript stays. */
export function* pruneTurns(before: number, limit: number): Transaction<number> {
  const deleted = yield* rows(deleteOldTurns, { before, limit })
  for (const { id: turn_id } of deleted) {
    yield* exec(deleteTurnInputs, { turn_id })
    yield* exec(deleteToolCalls, { turn_id })
    yield* exec(deleteTrace, { turn_id })
  }
  return deleted.length
}
