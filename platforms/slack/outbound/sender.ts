/**
 * Posts messages, and finds out whether a message arrived after a lost response.
 */
import { createLruCache, type OutboundMessage, type PlatformAdapter, type SendResult, type Target } from '#sdk'
import { type ApiCall, type CallResult, toPostResult } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'
import { type JsonRecord, recordAt, textAt, tsAt } from '../inbound/payload.ts'
import { createEdits } from './edits.ts'
import { containsFile, sendFile, type UploadFile } from './files.ts'
import { findDelivery } from './find-delivery.ts'
import { type Post, renderDraft, renderPosts } from './render.ts'
import { deliveryEventType, isStreaming, type Streams } from './stream.ts'

export interface SenderDeps {
  readonly call: ApiCall
  readonly streams: Streams
  readonly richBlocks: boolean
  readonly upload: UploadFile
  readonly clock: () => number
  /** A growing reply was edited. */
  onDraftEdited(ts: string): void
  /** The bot has posted in this channel or thread. */
  onPosted(channel: string, threadTs: string | undefined): void
}

export type Sender = Required<Pick<PlatformAdapter, 'send' | 'edit' | 'remove' | 'resolveUnknown'>>

export function createSender(deps: SenderDeps): Sender {
  const { call, streams, richBlocks, clock, upload, onDraftEdited, onPosted } = deps
  const edits = createEdits({ call, streams, richBlocks, onDraftEdited })
  /** Direct chats by user id. */
  const directChats = createLruCache<string>(500)
  /** The time of the first attempt of each delivery since the start. */
  const triedAt = createLruCache<number>(1_000)
  /** The number of posts that were sent of a message that needs several. */
  const progress = createLruCache<number>(100)
  /** File ids by delivery. */
  const uploaded = createLruCache<string>(200)

  return {
    send: (message, signal) =>
      inChannel(message.target, signal, async (channel) => {
        if (!triedAt.has(message.deliveryId)) triedAt.set(message.deliveryId, clock())
        const result = await sendTo(channel, message, signal)
        if (result.success) onPosted(channel, message.target.threadId)
        return result
      }),
    edit: (ts, message, final, signal) =>
      inChannel(message.target, signal, (channel) => edits.edit(channel, ts, message, final, signal)),
    remove: (target, ts, signal) => inChannel(target, signal, (channel) => edits.remove(channel, ts, signal)),

    async resolveUnknown(message, signal) {
      const channel = await channelOf(message.target, signal)
      if (typeof channel !== 'string') throw new Error(channel.failure.error)
      const found = await findDelivery(call, {
        channel,
        threadTs: message.target.threadId,
        matches: (post) => isDelivery(post, message, channel),
        since: triedAt.get(message.deliveryId),
        signal,
      })
      // After a restart the id of the file is unknown.
      const isFileUnknown = message.attachment?.source.kind === 'file' && !uploaded.has(message.deliveryId)
      return isFileUnknown && found !== 'unknown' && !found.sent ? 'unknown' : found
    },
  }

  async function inChannel(
    target: Target,
    signal: AbortSignal,
    work: (channel: string) => Promise<SendResult>,
  ): Promise<SendResult> {
    const channel = await channelOf(target, signal)
    return typeof channel === 'string' ? await work(channel) : toSendResult(channel.failure)
  }

  /** A user id is replaced by the direct chat with that user. */
  async function channelOf(
    { chatId }: Target,
    signal: AbortSignal,
  ): Promise<string | Extract<CallResult, { ok: false }>> {
    if (!/^[UW][A-Z0-9]+$/.test(chatId)) return chatId
    const known = directChats.get(chatId)
    if (known !== undefined) return known
    const result = await call('conversations.open', { users: chatId }, signal)
    if (!result.ok) return result
    const channel = textAt(recordAt(result.data, 'channel'), 'id') ?? chatId
    directChats.set(chatId, channel)
    return channel
  }

  async function sendTo(channel: string, message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    const { attachment, kind } = message
    if (attachment !== undefined) {
      return await sendFile({ call, upload, uploaded, post }, channel, message, attachment, signal)
    }
    if (kind === 'draft') {
      const streamed = await streams.start(message, channel, signal)
      return streamed ?? (await post(channel, message, await renderDraft(message), signal))
    }
    return await postAll(channel, message, await renderPosts(message, { richBlocks }), signal)
  }

  /** A retry continues after the last post that was sent. */
  async function postAll(
    channel: string,
    message: OutboundMessage,
    posts: readonly Post[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    const key = message.deliveryId
    const remaining = posts.slice(progress.get(key) ?? 0)
    let result: SendResult = { success: false, problem: 'rejected', error: 'the message has no text' }
    for (const [at, one] of remaining.entries()) {
      const after = remaining.length - at - 1
      // The last post has the id of the delivery. If it has arrived, all posts have.
      const deliveryId = after === 0 ? key : `${key}/${after}`
      result = await post(channel, { ...message, deliveryId }, one, signal)
      if (!result.success) return result
      if (after > 0) progress.set(key, posts.length - after)
    }
    progress.delete(key)
    return result
  }

  async function post(
    channel: string,
    { target, kind, deliveryId }: OutboundMessage,
    { text, blocks }: Post,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const args = {
      channel,
      text,
      ...(blocks === undefined ? {} : { blocks }),
      ...(kind === 'notice' ? { unfurl_links: false, unfurl_media: false } : {}),
      metadata: { event_type: deliveryEventType, event_payload: { id: deliveryId } },
    }
    if (target.threadId === undefined) return toPostResult(await call('chat.postMessage', args, signal))
    const result = await call('chat.postMessage', { ...args, thread_ts: target.threadId }, signal)
    // The first message of the thread was deleted, and Slack has posted nothing.
    const isThreadDeleted = !result.ok && missingThreadErrors.has(result.failure.code ?? '')
    return toPostResult(isThreadDeleted ? await call('chat.postMessage', args, signal) : result)
  }

  function isDelivery(stored: JsonRecord, { attachment, deliveryId, kind }: OutboundMessage, channel: string): boolean {
    const metadata = recordAt(stored, 'metadata')
    if (textAt(metadata, 'event_type') === deliveryEventType) {
      return textAt(recordAt(metadata, 'event_payload'), 'id') === deliveryId
    }
    if (attachment !== undefined) return containsFile(stored, uploaded.get(deliveryId))
    // An open stream has no metadata. An open stream that is not known must be this delivery.
    const ts = tsAt(stored)
    return kind === 'draft' && ts !== undefined && isStreaming(stored) && !streams.isOpen(ts, channel)
  }
}

const missingThreadErrors: ReadonlySet<string> = new Set([
  'thread_not_found',
  'cannot_reply_to_message',
  'invalid_thread_ts',
])
