/**
 * The rows of turns and of the tool calls inside them.
 */
import type { ToolMode } from '../agent/tool.ts'
import { exec, query, row, rows, sql, type UseCase } from '../store/query.ts'
import type { TurnState } from '../store/schema.ts'

// Literal, because SQLite uses a partial index only where a query repeats its condition word for word.
const open = sql<boolean>`turns.state in ('running', 'waiting')`

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
      id: p.id,
      session_key: p.session_key,
      session_id: p.session_id,
      epoch: p.epoch,
      state: 'running',
      origin: p.origin,
      authority: p.authority,
      route: p.route,
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

export function* beginTurn(turn: NewTurn, now: number): UseCase<void> {
  const { id, sessionKey: session_key, sessionId: session_id, epoch, origin, authority, route } = turn
  yield* exec(insertTurn, { id, session_key, session_id, epoch, origin, authority, route, now })
  yield* exec(insertInput, { turn_id: id, seq: turn.seq })
}

const findOpenTurn = query((db, p: { session_key: string }) =>
  db
    .selectFrom('turns')
    .innerJoin('turn_inputs', 'turn_inputs.turn_id', 'turns.id')
    .innerJoin('inbox', 'inbox.seq', 'turn_inputs.seq')
    .select([
      'turns.id',
      'turns.session_id',
      'turns.stop_requested',
      'inbox.seq',
      'inbox.tries',
      'inbox.payload',
      'inbox.reason',
      'inbox.state',
    ])
    .where('turns.session_key', '=', p.session_key)
    .where(open)
    .orderBy('inbox.seq')
    .limit(1),
)

export interface OpenTurn {
  readonly id: string
  readonly session_id: string
  readonly stop_requested: number
  readonly seq: number
  readonly tries: number
  readonly payload: string
  readonly reason: string | null
}

/** The turn of a session that has not ended, with the event that began it. */
export function* openTurn(sessionKey: string): UseCase<OpenTurn | undefined> {
  return yield* row(findOpenTurn, { session_key: sessionKey })
}

const turnIfOpen = query((db, p: { id: string }) =>
  db.selectFrom('turns').select(['id', 'session_key']).where('id', '=', p.id).where(open),
)

/** The session key of a turn; undefined when there is no such turn, or it has ended. */
export function* keyOfOpenTurn(id: string): UseCase<string | undefined> {
  return (yield* row(turnIfOpen, { id }))?.session_key
}

const openTurnKeys = query((db, _: Record<never, never>) => db.selectFrom('turns').select('session_key').where(open))

/** Sessions whose turn was cut off by a stop or a crash. */
export function* sessionsWithOpenTurns(): UseCase<readonly string[]> {
  return (yield* rows(openTurnKeys, {})).map((turn) => turn.session_key)
}

const moveEpoch = query((db, p: { id: string; epoch: number }) =>
  db.updateTable('turns').set({ epoch: p.epoch }).where('id', '=', p.id),
)

export function* resumeTurn(id: string, epoch: number): UseCase<void> {
  yield* exec(moveEpoch, { id, epoch })
}

const endOfTurn = query(
  (db, p: { id: string; state: TurnState; reason: string | null; model: string; provider: string; now: number }) =>
    db
      .updateTable('turns')
      .set({ state: p.state, reason: p.reason, model: p.model, provider: p.provider, ended_at: p.now })
      .where('id', '=', p.id)
      .where(open),
)

export interface TurnEnd {
  readonly state: 'done' | 'failed' | 'stopped'
  readonly reason: string | null
  readonly model: string
  readonly provider: string
}

export function* endTurn(id: string, end: TurnEnd, now: number): UseCase<void> {
  yield* exec(endOfTurn, { id, ...end, now })
}

const requestStop = query((db, p: { session_key: string }) =>
  db
    .updateTable('turns')
    .set({ stop_requested: 1 })
    .where('session_key', '=', p.session_key)
    .where(open)
    .returning('id'),
)

/** Notes on disk that the open turn shall stop, so that not even a crash brings it back. Undefined: there is none. */
export function* requestTurnStop(sessionKey: string): UseCase<string | undefined> {
  return (yield* row(requestStop, { session_key: sessionKey }))?.id
}

const findToolCall = query((db, p: { turn_id: string; call_id: string }) =>
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
        turn_id: p.turn_id,
        call_id: p.call_id,
        name: p.name,
        args_hash: p.args_hash,
        mode: p.mode,
        state: 'started',
        result: null,
        late_result: null,
        started_at: p.now,
        ended_at: null,
      })
      .onConflict((conflict) => conflict.doNothing()),
)

const noteEffect = query((db, p: { turn_id: string; call_id: string; args_hash: string }) =>
  db
    .updateTable('tool_calls')
    .set({ mode: 'effect', args_hash: p.args_hash })
    .where('turn_id', '=', p.turn_id)
    .where('call_id', '=', p.call_id),
)

export interface ToolStart {
  readonly turnId: string
  readonly callId: string
  readonly name: string
  readonly argsHash: string
  readonly mode: ToolMode
}

/** Whether the call was begun with an effect. */
export function* wasBegun(turnId: string, callId: string): UseCase<boolean> {
  return (yield* row(findToolCall, { turn_id: turnId, call_id: callId }))?.mode === 'effect'
}

/**
 * 'run', or 'unknown' when an effect was begun before a crash: then it must not run again. A call that was harmless and
 * now has an effect, because plugins rewrite it in another way, has one from here on.
 */
export function* startToolCall(call: ToolStart, now: number): UseCase<'run' | 'unknown'> {
  const { turnId: turn_id, callId: call_id, name, argsHash: args_hash, mode } = call
  const found = yield* row(findToolCall, { turn_id, call_id })
  if (found?.mode === 'effect') return 'unknown'
  if (found === undefined) yield* exec(insertToolCall, { turn_id, call_id, name, args_hash, mode, now })
  else if (mode === 'effect') yield* exec(noteEffect, { turn_id, call_id, args_hash })
  return 'run'
}

const closeToolCall = query(
  (db, p: { turn_id: string; call_id: string; state: 'done' | 'interrupted'; result: string | null; now: number }) =>
    db
      .updateTable('tool_calls')
      .set({ state: p.state, result: p.result, ended_at: p.now })
      .where('turn_id', '=', p.turn_id)
      .where('call_id', '=', p.call_id),
)

/** The result itself lies in the transcript, written by the same transaction; here is only how the call ended. */
export function* endToolCall(
  turnId: string,
  callId: string,
  state: 'done' | 'interrupted',
  now: number,
): UseCase<void> {
  yield* exec(closeToolCall, { turn_id: turnId, call_id: callId, state, result: null, now })
}

const keepLate = query((db, p: { turn_id: string; call_id: string; late: string; now: number }) =>
  db
    .updateTable('tool_calls')
    .set({ late_result: p.late, ended_at: p.now })
    .where('turn_id', '=', p.turn_id)
    .where('call_id', '=', p.call_id),
)

/** A result that came after its turn had been overtaken: kept as evidence, seen by no model. */
export function* keepLateResult(turnId: string, callId: string, result: string, now: number): UseCase<void> {
  yield* exec(keepLate, { turn_id: turnId, call_id: callId, late: result, now })
}

const oldTurns = query((db, p: { before: number; limit: number }) =>
  db
    .deleteFrom('turns')
    .where('id', 'in', (oldest) =>
      oldest
        .selectFrom('turns')
        .select('id')
        .where('started_at', '<', p.before)
        .where('ended_at', 'is not', null)
        .orderBy('started_at')
        .limit(p.limit),
    )
    .returning('id'),
)

const inputsOf = query((db, p: { turn_id: string }) => db.deleteFrom('turn_inputs').where('turn_id', '=', p.turn_id))
const callsOf = query((db, p: { turn_id: string }) => db.deleteFrom('tool_calls').where('turn_id', '=', p.turn_id))
const traceOf = query((db, p: { turn_id: string }) => db.deleteFrom('trace').where('turn_id', '=', p.turn_id))

/** Forgets the rows of turns that ended and began before `before`; returns how many went. The transcript stays. */
export function* sweepTurns(before: number, limit: number): UseCase<number> {
  const gone = yield* rows(oldTurns, { before, limit })
  for (const { id: turn_id } of gone) {
    yield* exec(inputsOf, { turn_id })
    yield* exec(callsOf, { turn_id })
    yield* exec(traceOf, { turn_id })
  }
  return gone.length
}
