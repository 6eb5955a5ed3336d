/**
 * The files that a turn has sent, for lists of messages.
 */
import { query, rows, type Transaction } from '../store/query.ts'
import { shownFileKey } from './queries.ts'
import { parseAttachment, type StoredAttachment } from './stored-attachment.ts'

const selectFiles = query((db, p: { from: string; to: string }) =>
  db
    .selectFrom('outbox')
    .select('attachment')
    .where('key', '>=', p.from)
    .where('key', '<', p.to)
    .where('attachment', 'is not', null)
    .orderBy('id'),
)

/** Empty once the retention has removed the messages. */
export function* listFilesOfTurn(turnId: string): Transaction<StoredAttachment[]> {
  const files: StoredAttachment[] = []
  for (const from of [`turn:${turnId}:`, shownFileKey(turnId)])
    for (const { attachment } of yield* rows(selectFiles, { from, to: `${from.slice(0, -1)};` }))
      if (attachment !== null) files.push(parseAttachment(attachment))
  return files
}
