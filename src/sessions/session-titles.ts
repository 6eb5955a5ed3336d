/**
 * The titles that a model gives to conversations. The name that a person gives always stays.
 */
import { exec, query, row, type Transaction } from '../store/query.ts'

const selectUntitled = query((db, p: { id: string }) =>
  db.selectFrom('sessions').select('id').where('id', '=', p.id).where('title', '=', '').where('title_tried', '=', 0),
)

const markTried = query((db, p: { id: string }) =>
  db.updateTable('sessions').set({ title_tried: 1 }).where('id', '=', p.id),
)

/** False when the session has a name, or when one was asked for before. Afterwards, none is asked for any more. */
export function* beginTitleAttempt(id: string): Transaction<boolean> {
  if ((yield* row(selectUntitled, { id })) === undefined) return false
  yield* exec(markTried, { id })
  return true
}

const setTitle = query((db, p: { id: string; title: string }) =>
  db.updateTable('sessions').set({ title: p.title }).where('id', '=', p.id).where('title', '=', ''),
)

/** Changes nothing when a person has given the session a name meanwhile. */
export function* giveTitle(id: string, title: string): Transaction<void> {
  yield* exec(setTitle, { id, title })
}
