/**
 * What the outbox needs of a platform, and how one call to it is bounded.
 */
import type { OutboundAttachment, OutboundMessage } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { MessageLimits, PlatformAdapter } from '../platforms/adapter.ts'
import type { Chat, OutboxRow } from './queries.ts'
import { parseButtons } from './stored-buttons.ts'

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

function toTarget(row: OutboxRow): Target {
  const { platform, account, chat_id: chatId, thread_id: threadId } = row
  return { platform, account, chatId, ...(threadId === '' ? {} : { threadId }) }
}

/** What stands in the message of a row that has a file. */
export interface AttachmentPayload {
  readonly caption: string
  readonly attachment: OutboundAttachment
}

/** The message of a row, as far as the sender can show it. Without `file` the row's text stands for it. */
export function toOutboundMessage(row: OutboxRow, sender: Sender, file?: AttachmentPayload): OutboundMessage {
  return {
    deliveryId: row.key,
    target: toTarget(row),
    text: file === undefined ? row.text : file.caption,
    kind: row.kind,
    ...(row.reply_to === null ? {} : { replyTo: row.reply_to }),
    ...(row.turn_id === null ? {} : { turnId: row.turn_id }),
    ...(file === undefined ? {} : { attachment: file.attachment }),
    ...(row.buttons === null || sender.showsButtons !== true ? {} : { buttons: parseButtons(row.buttons) }),
  }
}

/** A platform that has not answered for so long never will; its chat must go on. */
const callTimeoutMs = 120_000

/**
 * Calls a platform, at most `timeoutMs` long. Rejects as the call does, or when its time is over or `halt` aborts:
 * whether the platform has done it is then unknown, and a late answer is ignored.
 */
export async function callWithTimeout<T>(
  abortSignal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
  timeoutMs = callTimeoutMs,
): Promise<T> {
  const controller = new AbortController()
  const cancelled = Promise.withResolvers<never>()
  const cancel = (reason: string) => {
    controller.abort()
    cancelled.reject(new Error(reason))
  }
  const onAbort = () => cancel('stopped before the platform answered')
  const timer = setTimeout(cancel, timeoutMs, 'the platform did not answer in time')
  abortSignal.addEventListener('abort', onAbort, { once: true })
  try {
    if (abortSignal.aborted) throw new Error('stopped before the platform was called')
    return await Promise.race([call(controller.signal), cancelled.promise])
  } finally {
    clearTimeout(timer)
    abortSignal.removeEventListener('abort', onAbort)
  }
}
