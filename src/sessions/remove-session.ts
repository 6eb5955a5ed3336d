/**
 * Removes a session: its messages in steps, then the session itself. Inbox and outbox keep what the chat has shown until the retention
 * removes it.
 */
import { exec, query, rows, sql, type Transaction } from '../store/query.ts'

const deleteMessages = query((db, p: { session_id: string; limit: number }) =>
  db
    .deleteFrom('messages')
    .where('id', 'in', (some) =>
      some.selectFrom('messages').select('id').where('session_id', '=', p.session_id).limit(p.limit),
    )
    .returning('text_id'),
)

/** A copy of the session may have the same text. */
const deleteTexts = query((db, p: { ids: string }) =>
  db
    .deleteFrom('texts')
    .where('id', 'in', sql<number>`(select value from json_each(${p.ids}))`)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('messages').select('messages.id').whereRef('messages.text_id', '=', 'texts.id'))),
    ),
)

/** Returns how many were removed, at most `limit`. */
export function* removeMessages(sessionId: string, limit: number): Transaction<number> {
  const removed = yield* rows(deleteMessages, { session_id: sessionId, limit })
  const texts = removed.flatMap(({ text_id }) => text_id ?? [])
  if (texts.length > 0) yield* exec(deleteTexts, { ids: JSON.stringify(texts) })
  return removed.length
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
