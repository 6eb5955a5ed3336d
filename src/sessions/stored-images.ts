/**
 * Reads which pictures the stored conversations contain, also in messages that the model does not read any more.
 */
import { query, rows, type Transaction } from '../store/query.ts'
import { storedImages } from './transcript.ts'

const selectImages = query((db) =>
  db.selectFrom('messages').select('images').distinct().where('images', 'is not', null),
)

/** The files of all messages, as `ImagePart.file`. */
export function* findStoredImageFiles(): Transaction<ReadonlySet<string>> {
  return new Set(storedImages(yield* rows(selectImages, {})).map(({ file }) => file))
}
