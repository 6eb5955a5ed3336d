/**
 * The reply of a task that goes to several chats. Imported for such a task.
 */
import type { Target } from '../../message/source.ts'
import type { Outbox, Reply } from '../../outbox/outbox.ts'
import { combine, type TransactionPart } from '../../store/query.ts'

/** The reply in its own chat and in further ones, stored together. Throws as `prepare`. */
export function prepareForAll(
  outbox: Pick<Outbox, 'prepare'>,
  reply: Reply & { readonly key: string },
  others: readonly Target[],
): TransactionPart {
  // A draft, and the message that is answered, are in the first chat only.
  const { draft: _draft, replyTo: _replyTo, ...copy } = reply
  return combine([
    outbox.prepare(reply),
    ...others.map((target, index) => outbox.prepare({ ...copy, target, key: `${reply.key}:also:${index + 1}` })),
  ])
}
