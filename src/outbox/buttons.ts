/**
 * The buttons of a reply: how a row of the outbox stores them, and the message that shows them.
 */

import { z } from 'zod'
import type { Button } from '../message/outbound.ts'
import { query, row, type Transaction } from '../store/query.ts'
import { type KeyRange, keysUnder, rowsUnder } from './queries.ts'

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

const selectPlatformId = query((db, p: KeyRange) =>
  rowsUnder(db, p).select('platform_id').where('buttons', 'is not', null).where('platform_id', 'is not', null).limit(1),
)

/** The platform's id of the message that shows the buttons of a reply (`Reply.key`); `undefined` until it is sent. */
export function* findButtonsMessageId(replyKey: string): Transaction<string | undefined> {
  const delivered = yield* row(selectPlatformId, keysUnder(replyKey))
  return delivered?.platform_id ?? undefined
}
