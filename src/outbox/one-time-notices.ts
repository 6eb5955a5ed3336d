/**
 * Replaces texts that must not be kept after they were sent, such as one-time codes.
 */
import { exec, query, row, type Transaction } from '../store/query.ts'

const replaceTexts = query((db, p: { from: string; to: string; text: string }) =>
  db
    .updateTable('outbox')
    .set({ text: p.text })
    .where('key', '>=', p.from)
    .where('key', '<', p.to)
    .where('state', '=', 'sent')
    .where('text', '!=', p.text),
)

/** @param prefix of the keys; its last character must not be the last one of Unicode */
export function* forgetSentTexts(prefix: string): Transaction<void> {
  const last = prefix.charCodeAt(prefix.length - 1)
  const to = prefix.slice(0, -1) + String.fromCharCode(last + 1)
  yield* exec(replaceTexts, { from: prefix, to, text: '(no longer kept)' })
}

const findByKey = query((db, p: { key: string }) => db.selectFrom('outbox').select('id').where('key', '=', p.key))

/** Whether a reply with this key is stored, sent or not. */
export function* isReplyStored(key: string): Transaction<boolean> {
  return (yield* row(findByKey, { key: `${key}:1` })) !== undefined
}
