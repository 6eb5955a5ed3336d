/**
 * The buttons of a reply: how a row of the outbox stores them, and the message that shows them.
 */
import { z } from 'zod'
import type { Button } from '../message/outbound.ts'
import { query, row, type Transaction } from '../store/query.ts'

const buttonsSchema = z.array(
  z.object({
    id: z.string(),
    label: z.string(),
    style: z.enum(['primary', 'danger']).exactOptional(),
    isText: z.literal(true).exactOptional(),
  }),
)

/** Throws when the column `buttons` of a row is damaged. */
export function parseButtons(json: string): readonly Button[] {
  return buttonsSchema.parse(JSON.parse(json))
}

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

/** The platform's id of the message that shows the buttons of a reply (`Reply.key`); `undefined` until it is sent. */
export function* findButtonsMessageId(replyKey: string): Transaction<string | undefined> {
  // The keys of its messages are `<key>:1`, `<key>:2` ...; the character after the colon ends the range.
  const delivered = yield* row(selectPlatformId, { from: `${replyKey}:`, to: `${replyKey};` })
  return delivered?.platform_id ?? undefined
}
