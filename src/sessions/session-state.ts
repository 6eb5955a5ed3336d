/**
 * A lane is the life line of a session key: the session it is in now and the fence of its turns.
 * Every write of a turn names the epoch it was claimed with; when the lane has moved on, the write is refused.
 */
import { HermesError } from '../lib/errors.ts'
import { exec, query, row, type Transaction } from '../store/query.ts'

export interface SessionState {
  readonly session_id: string
  readonly epoch: number
  readonly fresh: number
}

/** What a turn's writes carry. */
export interface Fence {
  readonly sessionKey: string
  readonly epoch: number
}

const selectSessionState = query((db, p: { key: string }) =>
  db.selectFrom('lanes').select(['session_id', 'epoch', 'fresh']).where('session_key', '=', p.key),
)

export function* findSessionState(key: string): Transaction<SessionState | undefined> {
  return yield* row(selectSessionState, { key })
}

const insertSessionState = query((db, p: { key: string; session_id: string; source: string; now: number }) =>
  db.insertInto('lanes').values({
    session_key: p.key,
    session_id: p.session_id,
    epoch: 0,
    fresh: 1,
    source: p.source,
    updated_at: p.now,
  }),
)

const insertSession = query(
  (
    db,
    p: {
      id: string
      key: string
      platform: string
      user_id: string
      title: string
      parent_id: string | null
      now: number
    },
  ) =>
    db.insertInto('sessions').values({
      id: p.id,
      session_key: p.key,
      platform: p.platform,
      user_id: p.user_id,
      title: p.title,
      parent_id: p.parent_id,
      created_at: p.now,
      updated_at: p.now,
      ended_at: null,
      end_reason: null,
    }),
)

const updateSessionState = query(
  (db, p: { key: string; session_id: string; epoch: number; fresh: number; source: string; now: number }) =>
    db
      .updateTable('lanes')
      .set({ session_id: p.session_id, epoch: p.epoch, fresh: p.fresh, source: p.source, updated_at: p.now })
      .where('session_key', '=', p.key),
)

export interface EpochOptions {
  readonly key: string
  /** `SessionSource`, JSON. */
  readonly source: string
  readonly platform: string
  readonly userId: string
  /** The id a new session gets, should one be needed. */
  readonly newSessionId: string
  /** This turn does not count as the first one of its session: no model sees it. */
  readonly keepsFirstTurn?: boolean
  readonly now: number
}

/** Takes the lane for a turn: one epoch further, and no longer fresh. Makes lane and session where there are none. */
export function* beginEpoch(visit: EpochOptions): Transaction<SessionState> {
  const found = yield* findSessionState(visit.key)
  if (found === undefined) {
    yield* exec(insertSessionState, {
      key: visit.key,
      session_id: visit.newSessionId,
      source: visit.source,
      now: visit.now,
    })
    yield* createSession(visit, '', null)
  }
  const { session_id, epoch, fresh } = found ?? { session_id: visit.newSessionId, epoch: 0, fresh: 1 }
  const entered = { session_id, epoch: epoch + 1, fresh }
  yield* exec(updateSessionState, {
    key: visit.key,
    session_id,
    epoch: epoch + 1,
    fresh: visit.keepsFirstTurn === true ? fresh : 0,
    source: visit.source,
    now: visit.now,
  })
  return entered
}

const updateSessionEnd = query((db, p: { id: string; reason: string; now: number }) =>
  db.updateTable('sessions').set({ ended_at: p.now, end_reason: p.reason }).where('id', '=', p.id),
)

/** Ends the session of a lane and begins a new one; a turn that still runs can write nothing any more. */
export function* startNewSession(visit: EpochOptions, title: string): Transaction<{ ended: string | null }> {
  const found = yield* findSessionState(visit.key)
  if (found === undefined) {
    yield* exec(insertSessionState, {
      key: visit.key,
      session_id: visit.newSessionId,
      source: visit.source,
      now: visit.now,
    })
  } else {
    yield* exec(updateSessionEnd, { id: found.session_id, reason: 'reset', now: visit.now })
    const moved = { session_id: visit.newSessionId, epoch: found.epoch + 1, fresh: 1 }
    yield* exec(updateSessionState, { key: visit.key, ...moved, source: visit.source, now: visit.now })
  }
  yield* createSession(visit, title, found?.session_id ?? null)
  return { ended: found?.session_id ?? null }
}

function* createSession(visit: EpochOptions, title: string, parent: string | null): Transaction<void> {
  const { newSessionId: id, key, platform, userId: user_id, now } = visit
  yield* exec(insertSession, { id, key, platform, user_id, title, parent_id: parent, now })
}

/** Throws `store/fenced` when the lane has moved on. */
export function* checkFence(fence: Fence): Transaction<void> {
  const found = yield* findSessionState(fence.sessionKey)
  if (found?.epoch !== fence.epoch) throw new HermesError('store/fenced', `(${fence.sessionKey})`)
}

const advanceEpoch = query((db, p: { key: string; epoch: number; next: number }) =>
  db.updateTable('lanes').set({ epoch: p.next }).where('session_key', '=', p.key).where('epoch', '=', p.epoch),
)

/** Shuts the fence behind a turn: what it still writes is refused. */
export function* revokeEpoch({ sessionKey, epoch }: Fence): Transaction<void> {
  yield* exec(advanceEpoch, { key: sessionKey, epoch, next: epoch + 1 })
}

const updateSessionUsage = query((db, p: { id: string; input: number; output: number; now: number }) =>
  db
    .updateTable('sessions')
    .set((column) => ({
      input_tokens: column('input_tokens', '+', p.input),
      output_tokens: column('output_tokens', '+', p.output),
      updated_at: p.now,
    }))
    .where('id', '=', p.id),
)

/** Adds a turn's tokens to its session. */
export function* addSessionUsage(id: string, input: number, output: number, now: number): Transaction<void> {
  yield* exec(updateSessionUsage, { id, input, output, now })
}
