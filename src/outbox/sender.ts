/**
 * What the outbox needs of a platform, and how one call to it is bounded.
 */
import type { OutboundAttachment, OutboundMessage } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { MessageLimits, PlatformAdapter } from '../platforms/adapter.ts'
import type { Chat, OutboxRow } from './queries.ts'
import { readButtons } from './stored-buttons.ts'

/** The sending half of an adapter; the adapter itself will do. */
export type Sender = Pick<
  PlatformAdapter,
  | 'send'
  | 'edit'
  | 'remove'
  | 'typing'
  | 'resolveUnknown'
  | 'limits'
  | 'draftIntervalMs'
  | 'idempotentSends'
  | 'drawsCursor'
  | 'sendsAttachments'
  | 'showsButtons'
>

/** What fits when neither adapter nor manifest say. */
export const defaultLimits: MessageLimits = { maxChars: 4_000, unit: 'utf16' }

export function chatOf({ platform, account, chatId }: Target): Chat {
  return { platform, account, chatId }
}

/** Names an account in maps. */
export function accountKey(platform: string, account: string): string {
  return `${platform}\n${account}`
}

/** Names a chat in maps. */
export function chatKey({ platform, account, chatId }: Chat): string {
  return `${platform}\n${account}\n${chatId}`
}

function targetOfRow(row: OutboxRow): Target {
  const { platform, account, chat_id: chatId, thread_id: threadId } = row
  return { platform, account, chatId, ...(threadId === '' ? {} : { threadId }) }
}

/** What stands in the message of a row that has a file. */
export interface Enclosure {
  readonly caption: string
  readonly attachment: OutboundAttachment
}

/** The message of a row, as far as the sender can show it. Without `file` the row's text stands for it. */
export function messageOfRow(row: OutboxRow, sender: Sender, file?: Enclosure): OutboundMessage {
  return {
    deliveryId: row.key,
    target: targetOfRow(row),
    text: file === undefined ? row.text : file.caption,
    kind: row.kind,
    ...(row.reply_to === null ? {} : { replyTo: row.reply_to }),
    ...(row.turn_id === null ? {} : { turnId: row.turn_id }),
    ...(file === undefined ? {} : { attachment: file.attachment }),
    ...(row.buttons === null || sender.showsButtons !== true ? {} : { buttons: readButtons(row.buttons) }),
  }
}

/** A platform that has not answered for so long never will; its chat must go on. */
const callTimeoutMs = 120_000

/**
 * Calls a platform, at most `timeoutMs` long. Rejects as the call does, or when its time is over or `halt` aborts:
 * whether the platform has done it is then unknown, and a late answer is ignored.
 */
export async function bounded<T>(
  halt: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
  timeoutMs = callTimeoutMs,
): Promise<T> {
  const own = new AbortController()
  const given = Promise.withResolvers<never>()
  const giveUp = (reason: string) => {
    own.abort()
    given.reject(new Error(reason))
  }
  const onHalt = () => giveUp('stopped before the platform answered')
  const timer = setTimeout(giveUp, timeoutMs, 'the platform did not answer in time')
  halt.addEventListener('abort', onHalt, { once: true })
  try {
    if (halt.aborted) throw new Error('stopped before the platform was called')
    return await Promise.race([call(own.signal), given.promise])
  } finally {
    clearTimeout(timer)
    halt.removeEventListener('abort', onHalt)
  }
}
