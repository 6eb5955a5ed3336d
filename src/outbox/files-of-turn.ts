/**
 * The files that a turn has sent, for lists of messages.
 */
import { query, rows, type Transaction } from '../store/query.ts'
import { type KeyRange, keysUnder, rowsUnder, shownFileKey } from './queries.ts'
import { parseAttachment, type StoredAttachment } from './stored-attachment.ts'

const selectFiles = query((db, p: KeyRange) =>
  rowsUnder(db, p).select('attachment').where('attachment', 'is not', null).orderBy('id'),
)

/** Empty once the retention has removed the messages. */
export function* listFilesOfTurn(turnId: string): Transaction<StoredAttachment[]> {
  const files: StoredAttachment[] = []
  for (const key of [`turn:${turnId}`, shownFileKey(turnId)])
    for (const { attachment } of yield* rows(selectFiles, keysUnder(key)))
      if (attachment !== null) files.push(parseAttachment(attachment))
  return files
}
