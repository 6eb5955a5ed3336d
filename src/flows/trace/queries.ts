/**
 * The rows that tell the way of one message.
 */
import { query } from '../../store/query.ts'

export const selectMessage = query((db, p: { seq: number }) =>
  db
    .selectFrom('inbox')
    .select(['seq', 'session_key', 'lane', 'platform', 'account', 'chat_id', 'payload', 'state', 'turn_id'])
    .select(['busy_mode', 'accepted_at'])
    .where('seq', '=', p.seq),
)

/** Messages of people; what the gateway itself causes has another lane or is internal. */
export const selectNewest = query((db, _: Record<never, never>) =>
  db.selectFrom('inbox').select('seq').where('lane', '=', 'turn').orderBy('seq', 'desc').limit(1),
)

export const selectTurn = query((db, p: { id: string }) =>
  db
    .selectFrom('turns')
    .select(['id', 'session_id', 'state', 'reason', 'model', 'provider', 'started_at', 'ended_at'])
    .where('id', '=', p.id),
)

/** Two suffice to see that a prefix is ambiguous. */
export const selectTurnsByPrefix = query((db, p: { from: string; to: string }) =>
  db.selectFrom('turns').select('id').where('id', '>=', p.from).where('id', '<', p.to).orderBy('id').limit(2),
)

export const selectHead = query((db, p: { turn_id: string }) =>
  db.selectFrom('turn_inputs').select('seq').where('turn_id', '=', p.turn_id).orderBy('seq').limit(1),
)

export const selectResponses = query((db, p: { session_id: string; turn_id: string }) =>
  db
    .selectFrom('messages')
    .select(['created_at', 'usage', 'tool_calls'])
    .where('session_id', '=', p.session_id)
    .where('turn_id', '=', p.turn_id)
    .where('role', '=', 'assistant')
    .orderBy('ord'),
)

export const selectToolCalls = query((db, p: { turn_id: string }) =>
  db
    .selectFrom('tool_calls')
    .select(['name', 'state', 'result', 'started_at', 'ended_at'])
    .where('turn_id', '=', p.turn_id)
    .orderBy('started_at'),
)

export const selectQuestions = query((db, p: { session_key: string; from: number; to: number }) =>
  db
    .selectFrom('questions')
    .select(['kind', 'state', 'answer', 'answered_by', 'created_at', 'answered_at'])
    .where('session_key', '=', p.session_key)
    .where('created_at', '>=', p.from)
    .where('created_at', '<=', p.to)
    .orderBy('created_at'),
)

export const selectDeliveries = query(
  (db, p: { platform: string; account: string; chat_id: string; turn_id: string }) =>
    db
      .selectFrom('outbox')
      .select(['id', 'kind', 'op', 'state', 'tries', 'error', 'created_at', 'updated_at'])
      .where('platform', '=', p.platform)
      .where('account', '=', p.account)
      .where('chat_id', '=', p.chat_id)
      .where('turn_id', '=', p.turn_id)
      .orderBy('id'),
)

export const selectNotes = query((db, p: { turn_id: string }) =>
  db.selectFrom('trace').select(['event', 'detail', 'at']).where('turn_id', '=', p.turn_id).orderBy('id'),
)
