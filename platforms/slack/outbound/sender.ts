/**
 * Messages of ours: posting them, and finding out whether one arrived whose answer was lost.
 */
import { createLruCache, type OutboundMessage, type PlatformAdapter, type SendResult, type Target } from '#sdk'
import { type ApiCall, type CallResult, toPostResult, toSendResult } from '../connection/api.ts'
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
  /** A growing reply has been edited. */
  onDraftEdited(ts: string): void
  /** A message of ours stands in this thread now. */
  onPosted(channel: string, threadTs: string | undefined): void
}

export type Sender = Required<Pick<PlatformAdapter, 'send' | 'edit' | 'remove' | 'resolveUnknown'>>

export function createSender(deps: SenderDeps): Sender {
  const { call, streams, richBlocks, clock, upload, onDraftEdited, onPosted } = deps
  const edits = createEdits({ call, streams, richBlocks, onDraftEdited })
  /** Direct chats by the person they are with. */
  const directChats = createLruCache<string>(500)
  /** When a delivery was first tried in this life, ms. */
  const triedAt = createLruCache<number>(1_000)
  /** How many posts of a message that needs several have gone out. */
  const progress = createLruCache<number>(100)
  /** The file of a delivery. */
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
      // Which file it was is not known any more after a restart.
      const blind = message.attachment?.source.kind === 'file' && !uploaded.has(message.deliveryId)
      return blind && found !== 'unknown' && !found.sent ? 'unknown' : found
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

  /** A person's id stands for the direct chat with them. */
  async function channelOf(
    { chatId }: Target,
    signal: AbortSignal,
  ): Promise<string | Extract<CallResult, { ok: false }>> {
    if (!/^[UW][A-Z0-9]+$/.test(chatId)) return chatId
    const known = directChats.get(chatId)
    if (known !== undefined) return known
    const answer = await call('conversations.open', { users: chatId }, signal)
    if (!answer.ok) return answer
    const channel = textAt(recordAt(answer.data, 'channel'), 'id') ?? chatId
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

  /** Nearly always one. A try that broke off in between goes on where it was. */
  async function postAll(
    channel: string,
    message: OutboundMessage,
    posts: readonly Post[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    const key = message.deliveryId
    const left = posts.slice(progress.get(key) ?? 0)
    let result: SendResult = { success: false, problem: 'rejected', error: 'the message has no text' }
    for (const [at, one] of left.entries()) {
      const still = left.length - at - 1
      // The last one carries the name: once it is there, all are.
      const deliveryId = still === 0 ? key : `${key}/${still}`
      result = await post(channel, { ...message, deliveryId }, one, signal)
      if (!result.success) return result
      if (still > 0) progress.set(key, posts.length - still)
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
    const answer = await call('chat.postMessage', { ...args, thread_ts: target.threadId }, signal)
    // Somebody has deleted the message that the thread hangs on; nothing was posted, so this is no second post.
    const isGone = !answer.ok && missingThreadErrors.has(answer.failure.code ?? '')
    return toPostResult(isGone ? await call('chat.postMessage', args, signal) : answer)
  }

  function isDelivery(stored: JsonRecord, { attachment, deliveryId, kind }: OutboundMessage, channel: string): boolean {
    const metadata = recordAt(stored, 'metadata')
    if (textAt(metadata, 'event_type') === deliveryEventType) {
      return textAt(recordAt(metadata, 'event_payload'), 'id') === deliveryId
    }
    if (attachment !== undefined) return containsFile(stored, uploaded.get(deliveryId))
    // A stream has no name before it ends: one that is open and that we do not know is the one that was asked for.
    const ts = tsAt(stored)
    return kind === 'draft' && ts !== undefined && isStreaming(stored) && !streams.isOpen(ts, channel)
  }
}

const missingThreadErrors: ReadonlySet<string> = new Set([
  'thread_not_found',
  'cannot_reply_to_message',
  'invalid_thread_ts',
])
