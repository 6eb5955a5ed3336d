/**
 * Posts one rendered message, with the id of its delivery as metadata.
 */
import type { OutboundMessage, SendResult } from '#sdk'
import { type ApiCall, toPostResult } from '../connection/api.ts'
import { deliveryEventType } from './find-delivery.ts'
import type { Post } from './render.ts'

/** A message of a deleted thread is posted in the channel. */
export async function post(
  call: ApiCall,
  channel: string,
  { target, kind, deliveryId }: OutboundMessage,
  { text, blocks }: Post,
  signal: AbortSignal,
): Promise<SendResult> {
  const args = {
    channel,
    text,
    blocks,
    ...(kind === 'notice' ? { unfurl_links: false, unfurl_media: false } : {}),
    metadata: { event_type: deliveryEventType, event_payload: { id: deliveryId } },
  }
  if (target.threadId === undefined) return toPostResult(await call('chat.postMessage', args, signal))
  const result = await call('chat.postMessage', { ...args, thread_ts: target.threadId }, signal)
  // The first message of the thread was deleted, and Slack has posted nothing.
  const isThreadDeleted = !result.ok && missingThreadErrors.has(result.failure.code ?? '')
  return toPostResult(isThreadDeleted ? await call('chat.postMessage', args, signal) : result)
}

const missingThreadErrors: ReadonlySet<string> = new Set([
  'thread_not_found',
  'cannot_reply_to_message',
  'invalid_thread_ts',
])
