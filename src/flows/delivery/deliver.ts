/**
 * Delivers a message to a target that no conversation waits in: for scripts, hooks and the tool `send_message`. It is stored
 * before it is sent, and skipped where the chat takes no messages any more.
 */
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import type { Outbox, Reply } from '../../outbox/outbox.ts'
import { combine, type TransactionPart } from '../../store/query.ts'

export interface DeliveryContent {
  /** Never used twice: a second delivery with the same key sends nothing. */
  readonly key: string
  /** Markdown. A `notice` attaches no files that the text names, because it may come from strangers. */
  readonly text: string
  readonly kind: Reply['kind']
  /** Paths or addresses of files. */
  readonly media?: readonly string[]
  /** The person who causes it, and who may be sent only files that this person may read. */
  readonly authority?: Authority | undefined
  readonly sessionKey?: string | undefined
}

/** Prepares the message and its files. Never throws. */
export function prepareDelivery(
  outbox: Pick<Outbox, 'prepare'>,
  target: Target,
  { key, text, kind, media = [], authority, sessionKey }: DeliveryContent,
): TransactionPart {
  const common = { target, isUnsolicited: true, authority, sessionKey }
  const parts: TransactionPart[] = []
  if (text.trim() !== '') parts.push(outbox.prepare({ ...common, key, kind, text }))
  if (media.length > 0)
    parts.push(outbox.prepare({ ...common, key: `${key}:media`, kind: 'reply', text: media.map(mediaTag).join('\n') }))
  return combine(parts)
}

/** Why a path cannot be sent; undefined if it can be written in a tag. */
export function mediaProblem(path: string): string | undefined {
  if (/[\r\n]/.test(path) || (path.includes('"') && path.includes("'") && path.includes('`')))
    return `${JSON.stringify(path)} cannot be sent: rename the file`
  return undefined
}

export function mediaTag(path: string): string {
  const quote = ['"', "'", '`'].find((mark) => !path.includes(mark)) ?? '"'
  return `MEDIA:${quote}${path}${quote}`
}
