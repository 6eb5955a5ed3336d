/**
 * Counts the calls of models beside the conversation: titles, pictures, the judgement of commands, what plugins ask.
 */
import type { Usage } from '../message/transcript.ts'
import { deleteOldest, exec, pick, query, rows, type Transaction } from '../store/query.ts'
import { addSessionUsage } from './session-state.ts'

export interface AuxiliaryCall {
  /** '' for a call outside of conversations. */
  readonly sessionId: string
  readonly turnId: string | null
  /** `title_generation`, `plugin:<name>` ... */
  readonly task: string
  readonly provider: string
  readonly model: string
  readonly usage: Usage
}

const insertCall = query((db, p: Omit<AuxiliaryCall, 'usage'> & { usage: string; now: number }) =>
  db.insertInto('auxiliary_calls').values({
    session_id: p.sessionId,
    turn_id: p.turnId,
    ...pick(p, 'task', 'provider', 'model', 'usage'),
    created_at: p.now,
  }),
)

/** Adds the tokens to those of the session, too. */
export function* recordAuxiliaryCall({ usage, ...call }: AuxiliaryCall, now: number): Transaction<void> {
  yield* exec(insertCall, { ...call, usage: JSON.stringify(usage), now })
  yield* addSessionUsage(call.sessionId, usage, now)
}

const deleteOldCalls = deleteOldest('auxiliary_calls', 'created_at')

/** Deletes calls older than `before`, at most `limit`; returns how many. The sums of their sessions keep them. */
export function* pruneAuxiliaryCalls(before: number, limit: number): Transaction<number> {
  return (yield* rows(deleteOldCalls, { before, limit })).length
}
