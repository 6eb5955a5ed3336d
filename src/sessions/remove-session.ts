/**
 * Removes a session: its long texts, its messages in steps, then the session itself. Inbox and outbox keep what the chat has shown until the retention
 * removes it.
 */
import { type Db, exec, query, row, rows, sql, type Transaction } from '../store/query.ts'

const selectLongText = query((db, p: { session_id: string }) =>
  db
    .selectFrom('messages')
    .select('id')
    .where('session_id', '=', p.session_id)
    .where('text_id', 'is not', null)
    .limit(1),
)

const textsOf = (db: Db, session: '=' | '!=', id: string) =>
  db
    .selectFrom('messages')
    .select(sql<number>`text_id`.as('id'))
    .where('session_id', session, id)
    .where('text_id', 'is not', null)

const deleteTexts = query((db, p: { session_id: string }) =>
  db
    .deleteFrom('texts')
    .where('id', 'in', textsOf(db, '=', p.session_id))
    .where('id', 'not in', textsOf(db, '!=', p.session_id)),
)

/** Before the messages. A copy of the session may have the same texts, which stay. */
export function* removeLongTexts(sessionId: string): Transaction<void> {
  // Looking for copies reads all messages.
  if ((yield* row(selectLongText, { session_id: sessionId })) === undefined) return
  yield* exec(deleteTexts, { session_id: sessionId })
}

const deleteMessages = query((db, p: { session_id: string; limit: number }) =>
  db
    .deleteFrom('messages')
    .where('id', 'in', (some) =>
      some.selectFrom('messages').select('id').where('session_id', '=', p.session_id).limit(p.limit),
    )
    .returning('id'),
)

/** Returns how many were removed, at most `limit`. */
export function* removeMessages(sessionId: string, limit: number): Transaction<number> {
  return (yield* rows(deleteMessages, { session_id: sessionId, limit })).length
}

const deletePrompt = query((db, p: { id: string }) => db.deleteFrom('prompts').where('session_id', '=', p.id))
const deleteCalls = query((db, p: { id: string }) => db.deleteFrom('auxiliary_calls').where('session_id', '=', p.id))
const deleteRow = query((db, p: { id: string }) => db.deleteFrom('sessions').where('id', '=', p.id))
const orphanChildren = query((db, p: { id: string }) =>
  db.updateTable('sessions').set({ parent_id: null }).where('parent_id', '=', p.id),
)

/** After its messages. */
export function* removeSession(id: string): Transaction<void> {
  yield* exec(deletePrompt, { id })
  yield* exec(deleteCalls, { id })
  yield* exec(orphanChildren, { id })
  yield* exec(deleteRow, { id })
}
