/**
 * Finds the message under which the buttons of a reply stand.
 */
import { query, row, type Transaction } from '../store/query.ts'

const selectPlatformId = query((db, p: { from: string; to: string }) =>
  db
    .selectFrom('outbox')
    .select('platform_id')
    .where('key', '>=', p.from)
    .where('key', '<', p.to)
    .where('buttons', 'is not', null)
    .where('platform_id', 'is not', null)
    .limit(1),
)

/** The platform's id of that message; undefined until it is sent. `replyKey` as in `Reply.key`. */
export function* findButtonsMessageId(replyKey: string): Transaction<string | undefined> {
  // The keys of its messages are `<key>:1`, `<key>:2` …; the character after the colon ends the range.
  const found = yield* row(selectPlatformId, { from: `${replyKey}:`, to: `${replyKey};` })
  return found?.platform_id ?? undefined
}
