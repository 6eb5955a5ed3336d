/**
 * Sends growing replies with Slack's streaming methods `chat.startStream`, `chat.appendStream` and `chat.stopStream`. The
 * stream becomes the final message.
 *
 * Slack supports streams only in threads and not in every workspace and channel, and closes a stream after some minutes.
 * When Slack refuses, the caller continues with posts and edits.
 */
import { createLruCache, type LruCache, type OutboundMessage, type SendResult } from '#sdk'
import type { SlackAccount } from '../account.ts'
import type { CallResult } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'
import { type JsonRecord, textAt, tsAt } from '../inbound/payload.ts'
import { isDirectMessage } from '../inbound/source.ts'
import type { EditThrottle } from './edit-throttle.ts'
import { escapeGrowingMarkdown, escapeMarkdown } from './escape.ts'
import { deliveryEventType } from './find-delivery.ts'

export interface Streams {
  /** `undefined` when the reply must be sent as a post. */
  start(message: OutboundMessage, channel: string, signal: AbortSignal): Promise<SendResult | undefined>
  /** `edit`: the stream is closed, and the message must be edited from now on. */
  grow(ts: string, message: OutboundMessage, channel: string, signal: AbortSignal): Promise<SendResult | 'edit'>
  /** Sends the rest of the final text and closes the stream. Returns as `grow` does. */
  finish(ts: string, message: OutboundMessage, channel: string, signal: AbortSignal): Promise<SendResult | 'edit'>
  /** Closes a stream that may be open since before a restart. */
  close(ts: string, channel: string, signal: AbortSignal): Promise<void>
  /** Whether this adapter opened the stream and has not closed it. */
  isOpen(ts: string, channel: string): boolean
}

interface ReplyStream {
  /** The text that Slack has certainly received. */
  shown: string
  isOpen: boolean
}

/** The limit of one call. */
const maxFrameChars = 12_000

interface StreamsState {
  readonly account: SlackAccount
  readonly throttle: EditThrottle
  readonly streams: LruCache<ReplyStream>
  /** Whether the workspace supports streams, and whether channels do. */
  isSupported: boolean
  isSupportedInChannels: boolean
  retryAt: number
}

export function createStreams(account: SlackAccount, throttle: EditThrottle): Streams {
  const streams = createLruCache<ReplyStream>(500)
  const state: StreamsState = {
    account,
    throttle,
    streams,
    isSupported: true,
    isSupportedInChannels: true,
    retryAt: 0,
  }
  return {
    start: (message, channel, signal) => start(state, message, channel, signal),
    async grow(ts, message, channel, signal) {
      const stream = streams.get(streamKeyOf(channel, ts))
      if (stream === undefined || !stream.isOpen) return 'edit'
      throttle.recordEdit(ts, 'frame')
      return await append(account, stream, ts, await escapeGrowingMarkdown(message.text), channel, signal)
    },
    finish: (ts, message, channel, signal) => finish(state, ts, message, channel, signal),
    async close(ts, channel, signal) {
      streams.delete(streamKeyOf(channel, ts))
      const result = await account.call('chat.stopStream', { channel, ts }, signal)
      if (result.ok) return
      const { error } = result.failure
      account.context.log.debug(
        { event: 'slack.stream_close_failed', channel, reason: error },
        'stream could not be closed',
      )
    },
    isOpen: (ts, channel) => streams.get(streamKeyOf(channel, ts))?.isOpen === true,
  }
}

async function start(
  state: StreamsState,
  message: OutboundMessage,
  channel: string,
  signal: AbortSignal,
): Promise<SendResult | undefined> {
  const { call, context, threads, identity } = state.account
  const { threadId } = message.target
  const direct = isDirectMessage({ channel })
  if (!state.isSupported || (!direct && !state.isSupportedInChannels)) return undefined
  if (threadId === undefined || context.clock() < state.retryAt) return undefined
  // A stream in a channel needs a recipient.
  const userId = threads.lastAuthorOf(channel, threadId)
  if (!direct && userId === undefined) return undefined
  const frame = (await escapeGrowingMarkdown(message.text)).slice(0, maxFrameChars)
  if (frame === '') return undefined
  const to = userId === undefined ? {} : { recipient_user_id: userId, recipient_team_id: identity?.teamId ?? '' }
  const args = { channel, thread_ts: threadId, markdown_text: frame, ...to }
  const result = await call('chat.startStream', args, signal)
  if (!result.ok) return handleStartFailure(state, result, direct)
  const ts = tsAt(result.data)
  if (ts === undefined) return { success: true }
  state.streams.set(streamKeyOf(channel, ts), { shown: frame, isOpen: true })
  state.throttle.recordEdit(ts, 'frame')
  return { success: true, messageId: ts }
}

async function finish(
  { account, streams }: StreamsState,
  ts: string,
  message: OutboundMessage,
  channel: string,
  signal: AbortSignal,
): Promise<SendResult | 'edit'> {
  const key = streamKeyOf(channel, ts)
  const stream = streams.get(key)
  if (stream === undefined) return 'edit'
  const fullText = await escapeMarkdown(message.text)
  // A retry of the final text, because its result was lost.
  if (!stream.isOpen) return stream.shown === fullText ? { success: true, messageId: ts } : 'edit'
  const canAppend = message.buttons === undefined && fullText.startsWith(stream.shown)
  if (!canAppend) return await stopForEdit(account, stream, ts, channel, signal)
  if (fullText.length - stream.shown.length > maxFrameChars) {
    const untilLastFrame = fullText.slice(0, fullText.length - maxFrameChars)
    const appended = await append(account, stream, ts, untilLastFrame, channel, signal)
    if (appended === 'edit' || !appended.success) return appended
  }
  const rest = fullText.slice(stream.shown.length)
  const metadata = { event_type: deliveryEventType, event_payload: { id: message.deliveryId } }
  const args = { channel, ts, metadata, ...(rest === '' ? {} : { markdown_text: rest }) }
  const result = await account.call('chat.stopStream', args, signal)
  if (!result.ok) return handleAppendFailure(account, stream, result, rest !== '')
  streams.set(key, { shown: fullText, isOpen: false })
  return { success: true, messageId: ts }
}

async function append(
  account: SlackAccount,
  stream: ReplyStream,
  ts: string,
  fullText: string,
  channel: string,
  signal: AbortSignal,
): Promise<SendResult | 'edit'> {
  // A stream can only be extended.
  if (!fullText.startsWith(stream.shown)) return await stopForEdit(account, stream, ts, channel, signal)
  while (stream.shown.length < fullText.length) {
    const frame = fullText.slice(stream.shown.length, stream.shown.length + maxFrameChars)
    const result = await account.call('chat.appendStream', { channel, ts, markdown_text: frame }, signal)
    if (!result.ok) return handleAppendFailure(account, stream, result, true)
    stream.shown += frame
  }
  return { success: true, messageId: ts }
}

/** Closes a stream whose text is wrong, so that the message can be edited. */
async function stopForEdit(
  { call }: SlackAccount,
  stream: ReplyStream,
  ts: string,
  channel: string,
  signal: AbortSignal,
): Promise<SendResult | 'edit'> {
  const result = await call('chat.stopStream', { channel, ts }, signal)
  // `rejected`: Slack has closed the stream already.
  if (result.ok || result.failure.problem === 'rejected') {
    stream.isOpen = false
    stream.shown = ''
    return 'edit'
  }
  return toSendResult(result.failure)
}

/** After a frame with an unknown result the shown text is unknown, so only an edit can correct it. */
function handleAppendFailure(
  { context }: SlackAccount,
  stream: ReplyStream,
  { failure }: FailedCall,
  hadText: boolean,
): SendResult | 'edit' {
  if (failure.problem === 'rejected') {
    context.log.debug({ event: 'slack.stream_closed', reason: failure.error }, 'stream closed, continuing with edits')
    stream.isOpen = false
    stream.shown = ''
    return 'edit'
  }
  if (failure.maybeSent === true && hadText) stream.shown = unknownShownText
  return toSendResult(failure)
}

function handleStartFailure(state: StreamsState, { failure }: FailedCall, direct: boolean): SendResult | undefined {
  const { clock, log } = state.account.context
  const { problem, code = '', error, retryAfterMs = 30_000 } = failure
  // The rate limit for new streams is lower than that for posts.
  if (problem === 'rate-limited') state.retryAt = clock() + retryAfterMs
  else if (problem !== 'rejected' || chatErrors.has(code)) return toSendResult(failure)
  else if (!direct && (code === 'channel_type_not_supported' || code.includes('recipient')))
    state.isSupportedInChannels = false
  else state.isSupported = false
  log.info({ event: 'slack.stream_unsupported', reason: error }, 'reply cannot be streamed, using edits')
  return undefined
}

type FailedCall = Extract<CallResult, { ok: false }>

/** No reply starts with it, so the next frame detects a mismatch and switches to edits. */
const unknownShownText = '\u0000'

/** A post would fail with the same error. */
const chatErrors: ReadonlySet<string> = new Set([
  'channel_not_found',
  'is_archived',
  'not_in_channel',
  'thread_not_found',
  'restricted_action',
  'restricted_action_read_only_channel',
])

function streamKeyOf(channel: string, ts: string): string {
  return `${channel}:${ts}`
}

/** Whether the stream of a message is still open at Slack. */
export function isStreaming(message: JsonRecord): boolean {
  return textAt(message, 'streaming_state') === 'in_progress'
}
