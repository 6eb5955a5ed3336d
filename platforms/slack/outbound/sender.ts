/**
 * Posts messages, and finds out whether a message arrived after a lost response.
 */
import {
  type AlbumResult,
  type AlbumSupport,
  createLruCache,
  type LruCache,
  type OutboundAlbum,
  type OutboundMessage,
  type PlatformAdapter,
  type SendResult,
  type Target,
} from '#sdk'
import type { SlackAccount } from '../account.ts'
import type { CallResult } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'
import { type JsonRecord, recordAt, textAt, tsAt } from '../inbound/payload.ts'
import type { EditThrottle } from './edit-throttle.ts'
import { createEdits } from './edits.ts'
import { createFileUploads, type FileUploads } from './files.ts'
import { deliveryEventType, findDelivery } from './find-delivery.ts'
import { post } from './post.ts'
import { type Post, renderDraft, renderPosts } from './render.ts'
import { createStreams, isStreaming, type Streams } from './stream.ts'
import type { TypingStatus } from './typing-status.ts'

export type Sender = Required<Pick<PlatformAdapter, 'send' | 'albums' | 'edit' | 'remove' | 'resolveUnknown'>>

interface SenderState {
  readonly account: SlackAccount
  readonly streams: Streams
  readonly files: FileUploads
  readonly status: TypingStatus
  /** Direct chats by user id. */
  readonly directChats: LruCache<string>
  /** The time of the first attempt of each delivery since the start. */
  readonly triedAt: LruCache<number>
  /** The number of posts that were sent of a message that needs several. */
  readonly progress: LruCache<number>
}

export function createSender(account: SlackAccount, throttle: EditThrottle, status: TypingStatus): Sender {
  const streams = createStreams(account, throttle)
  const edits = createEdits(account, streams, throttle)
  const state: SenderState = {
    account,
    streams,
    files: createFileUploads(account),
    status,
    directChats: createLruCache<string>(500),
    triedAt: createLruCache<number>(1_000),
    progress: createLruCache<number>(100),
  }
  return {
    send: (message, signal) =>
      inChannel(state, message.target, signal, (channel) => send(state, channel, message, signal)),
    albums: createAlbums(state),
    edit: (ts, message, final, signal) =>
      inChannel(state, message.target, signal, (channel) => edits.edit(channel, ts, message, final, signal)),
    remove: (target, ts, signal) => inChannel(state, target, signal, (channel) => edits.remove(channel, ts, signal)),
    resolveUnknown: (message, signal) => resolveUnknown(state, message, signal),
  }
}

/** The limit of Discord and Telegram, so that answers look alike. Slack documents no limit. */
const maxAlbumFiles = 10

function createAlbums(state: SenderState): AlbumSupport {
  return {
    maxFiles: maxAlbumFiles,
    // A file given by its URL is a block or a link, not a file of Slack.
    groupOf: ({ source }) => (source.kind === 'file' ? 'files' : undefined),
    async send(album, signal): Promise<AlbumResult> {
      const result = await inChannel(state, album.target, signal, async (channel) => {
        recordAttempt(state, album.deliveryId)
        const sent = await state.files.sendAll(channel, album, signal)
        if (sent.success) recordPosted(state, channel, album.target)
        return sent
      })
      return result.success ? { success: true } : result
    },
    async resolveUnknown(album, signal) {
      const result = await resolveUnknown(state, firstMessageOf(album), signal)
      if (result === 'unknown' || !result.sent) return result
      return { sent: true, messageIds: result.messageId === undefined ? undefined : [result.messageId] }
    },
  }
}

/** The message of an album contains its first file. */
function firstMessageOf({ files, ...album }: OutboundAlbum): OutboundMessage {
  return { ...album, text: '', attachment: files[0]?.attachment }
}

function recordAttempt({ triedAt, account }: SenderState, deliveryId: string): void {
  if (!triedAt.has(deliveryId)) triedAt.set(deliveryId, account.context.clock())
}

function recordPosted({ account, status }: SenderState, channel: string, { threadId }: Target): void {
  account.threads.recordPosted(channel, threadId)
  status.posted(channel, threadId)
}

async function send(
  state: SenderState,
  channel: string,
  message: OutboundMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  recordAttempt(state, message.deliveryId)
  const result = await sendTo(state, channel, message, signal)
  if (result.success) recordPosted(state, channel, message.target)
  return result
}

async function resolveUnknown(
  state: SenderState,
  message: OutboundMessage,
  signal: AbortSignal,
): ReturnType<Sender['resolveUnknown']> {
  const channel = await channelOf(state, message.target, signal)
  if (typeof channel !== 'string') throw new Error(channel.failure.error)
  const delivery = await findDelivery(state.account.call, {
    channel,
    threadTs: message.target.threadId,
    matches: (post) => isDelivery(state, post, message, channel),
    since: state.triedAt.get(message.deliveryId),
    signal,
  })
  // After a restart the id of the file is unknown.
  const isFileUnknown = message.attachment?.source.kind === 'file' && !state.files.has(message.deliveryId)
  return isFileUnknown && delivery !== 'unknown' && !delivery.sent ? 'unknown' : delivery
}

async function inChannel(
  state: SenderState,
  target: Target,
  signal: AbortSignal,
  work: (channel: string) => Promise<SendResult>,
): Promise<SendResult> {
  const channel = await channelOf(state, target, signal)
  return typeof channel === 'string' ? await work(channel) : toSendResult(channel.failure)
}

/** A user id is replaced by the direct chat with that user. */
async function channelOf(
  { account, directChats }: SenderState,
  { chatId }: Target,
  signal: AbortSignal,
): Promise<string | Extract<CallResult, { ok: false }>> {
  if (!/^[UW][A-Z0-9]+$/.test(chatId)) return chatId
  const known = directChats.get(chatId)
  if (known !== undefined) return known
  const result = await account.call('conversations.open', { users: chatId }, signal)
  if (!result.ok) return result
  const channel = textAt(recordAt(result.data, 'channel'), 'id') ?? chatId
  directChats.set(chatId, channel)
  return channel
}

async function sendTo(
  state: SenderState,
  channel: string,
  message: OutboundMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  const { account, streams, files } = state
  const { attachment, kind } = message
  if (attachment !== undefined) return await files.send(channel, message, attachment, signal)
  if (kind === 'draft') {
    const streamed = await streams.start(message, channel, signal)
    return streamed ?? (await post(account.call, channel, message, await renderDraft(message), signal))
  }
  return await postAll(state, channel, message, await renderPosts(message, account.options), signal)
}

/** A retry continues after the last post that was sent. */
async function postAll(
  { account, progress }: SenderState,
  channel: string,
  message: OutboundMessage,
  posts: readonly Post[],
  signal: AbortSignal,
): Promise<SendResult> {
  const key = message.deliveryId
  const remaining = posts.slice(progress.get(key) ?? 0)
  let result: SendResult = { success: false, problem: 'rejected', error: 'the message has no text' }
  for (const [at, piece] of remaining.entries()) {
    const after = remaining.length - at - 1
    // The last post has the id of the delivery. If it has arrived, all posts have.
    const deliveryId = after === 0 ? key : `${key}/${after}`
    result = await post(account.call, channel, { ...message, deliveryId }, piece, signal)
    if (!result.success) return result
    if (after > 0) progress.set(key, posts.length - after)
  }
  progress.delete(key)
  return result
}

function isDelivery(
  { streams, files }: SenderState,
  stored: JsonRecord,
  { attachment, deliveryId, kind }: OutboundMessage,
  channel: string,
): boolean {
  const metadata = recordAt(stored, 'metadata')
  if (textAt(metadata, 'event_type') === deliveryEventType) {
    return textAt(recordAt(metadata, 'event_payload'), 'id') === deliveryId
  }
  if (attachment !== undefined) return files.isIn(stored, deliveryId)
  // An open stream has no metadata. An open stream that is not known must be this delivery.
  const ts = tsAt(stored)
  return kind === 'draft' && ts !== undefined && isStreaming(stored) && !streams.isOpen(ts, channel)
}
