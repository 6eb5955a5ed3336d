/**
 * Tells the sender of a message which of its files were not received, which pictures the model is not shown, and which files are no
 * recordings. Loaded with the first such file.
 */
import { type Attachment, hasWaitingUser, type MessageEvent } from '../../message/event.ts'
import { targetOf } from '../../message/source.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { TransactionPart } from '../../store/query.ts'

/** `undefined` when there is nothing to tell, or no person who reads it. */
export function prepareRefusedFilesNotice(
  outbox: Pick<Outbox, 'prepare'>,
  { seq, event }: { readonly seq: number; readonly event: MessageEvent },
  files: readonly Attachment[],
): TransactionPart | undefined {
  if (event.task !== undefined || !hasWaitingUser(event)) return undefined
  const lines = files.flatMap(describeFile)
  if (lines.length === 0) return undefined
  return outbox.prepare({
    key: `message:${seq}:files`,
    target: targetOf(event.source),
    kind: 'notice',
    text: lines.join('\n'),
    replyTo: event.messageId,
  })
}

function describeFile({
  kind,
  fileName = '',
  mimeType,
  problem,
  hidden,
  untranscribed = '',
  quoted,
}: Attachment): string[] {
  if (quoted === true) return []
  const name = fileName === '' ? `The ${kind}` : toMarkdownLabel(fileName, 100)
  if (problem !== undefined) return [`⚠️ ${name} was not received: ${problem}.`]
  if (untranscribed !== '') return [`⚠️ ${name} is not transcribed: ${untranscribed}.`]
  // People send animations and stickers for fun; that models see no animations is no news with each of them.
  if (hidden === undefined || kind === 'sticker' || mimeType === 'image/gif') return []
  return [`⚠️ ${name} is not shown to the model: ${hidden}.`]
}
