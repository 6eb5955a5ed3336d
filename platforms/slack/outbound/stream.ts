/**
 * Replies that grow by Slack's own streaming: `chat.startStream`, `chat.appendStream`, `chat.stopStream`. The stream is
 * the final message.
 *
 * Slack offers it in threads only, not in every workspace and channel, and closes a stream by itself after some minutes.
 * Wherever it says no, the caller goes on with posts and edits.
 */
import { createLruCache, type Logger, type OutboundMessage, type SendResult } from '#sdk'
import { type ApiCall, type CallResult, toSendResult } from '../connection/api.ts'
import { type JsonRecord, textAt, tsAt } from '../inbound/payload.ts'
import { isDirectMessage } from '../inbound/source.ts'
import { escapeMentions, withoutPartialMention } from './escape.ts'

export interface Streams {
  /** Undefined where the reply has to be shown with a post. */
  start(message: OutboundMessage, channel: string, signal: AbortSignal): Promise<SendResult | undefined>
  /** `edit`: the message has to be edited from here on; its stream, if there was one, is closed. */
  grow(ts: string, message: OutboundMessage, channel: string, signal: AbortSignal): Promise<SendResult | 'edit'>
  /** As `grow`, with the whole text. */
  finish(ts: string, message: OutboundMessage, channel: string, signal: AbortSignal): Promise<SendResult | 'edit'>
  /** Closes a stream that may still be open, from before a restart. */
  close(ts: string, channel: string, signal: AbortSignal): Promise<void>
  /** Whether this stream is one of ours that is known to be open. */
  isOpen(ts: string, channel: string): boolean
}

export interface StreamsDeps {
  readonly call: ApiCall
  readonly clock: () => number
  readonly log: Logger
  readonly teamId: () => string
  /** A stream has got a frame. */
  onFrame(ts: string): void
  /** Who wrote last in a thread: a stream in a channel is addressed to a person. */
  lastAuthorOf(channel: string, threadTs: string): string | undefined
}

interface ReplyStream {
  /** As much as Slack has surely taken, as it was sent. */
  shown: string
  isOpen: boolean
}

/** What one call takes. */
const maxFrameChars = 12_000

export function createStreams({
  call,
  clock,
  log,
  teamId,
  onFrame: grew,
  lastAuthorOf: askedBy,
}: StreamsDeps): Streams {
  const streams = createLruCache<ReplyStream>(500)
  /** Whether Slack streams here at all, and in channels. */
  let isSupported = true
  let isSupportedInChannels = true
  let retryAt = 0

  return {
    async start(message, channel, signal) {
      const { threadId } = message.target
      const direct = isDirectMessage({ channel })
      if (!isSupported || (!direct && !isSupportedInChannels) || threadId === undefined || clock() < retryAt)
        return undefined
      const userId = askedBy(channel, threadId)
      if (!direct && userId === undefined) return undefined
      const frame = toFrame(message).slice(0, maxFrameChars)
      if (frame === '') return undefined
      const to = userId === undefined ? {} : { recipient_user_id: userId, recipient_team_id: teamId() }
      const args = { channel, thread_ts: threadId, markdown_text: frame, ...to }
      const answer = await call('chat.startStream', args, signal)
      if (!answer.ok) return handleStartFailure(answer, direct)
      const ts = tsAt(answer.data)
      if (ts === undefined) return { success: true }
      streams.set(streamKeyOf(channel, ts), { shown: frame, isOpen: true })
      grew(ts)
      return { success: true, messageId: ts }
    },

    async grow(ts, message, channel, signal) {
      const stream = streams.get(streamKeyOf(channel, ts))
      if (stream === undefined || !stream.isOpen) return 'edit'
      grew(ts)
      return await append(stream, ts, toFrame(message), channel, signal)
    },

    async finish(ts, message, channel, signal) {
      const key = streamKeyOf(channel, ts)
      const stream = streams.get(key)
      if (stream === undefined) return 'edit'
      const whole = escapeMentions(message.text)
      // The same final once more, because its receipt was lost.
      if (!stream.isOpen) return stream.shown === whole ? { success: true, messageId: ts } : 'edit'
      const plain = message.buttons === undefined && whole.startsWith(stream.shown)
      if (!plain) return await stopForEdit(stream, ts, channel, signal)
      if (whole.length - stream.shown.length > maxFrameChars) {
        const appended = await append(stream, ts, whole.slice(0, whole.length - maxFrameChars), channel, signal)
        if (appended === 'edit' || !appended.success) return appended
      }
      const rest = whole.slice(stream.shown.length)
      const metadata = { event_type: deliveryEventType, event_payload: { id: message.deliveryId } }
      const args = { channel, ts, metadata, ...(rest === '' ? {} : { markdown_text: rest }) }
      const answer = await call('chat.stopStream', args, signal)
      if (answer.ok) {
        streams.set(key, { shown: whole, isOpen: false })
        return { success: true, messageId: ts }
      }
      return handleAppendFailure(stream, answer, rest !== '')
    },

    async close(ts, channel, signal) {
      streams.delete(streamKeyOf(channel, ts))
      const answer = await call('chat.stopStream', { channel, ts }, signal)
      if (!answer.ok) log.debug({ channel, error: answer.failure.error }, 'a stream could not be closed')
    },

    isOpen: (ts, channel) => streams.get(streamKeyOf(channel, ts))?.isOpen === true,
  }

  async function append(
    stream: ReplyStream,
    ts: string,
    whole: string,
    channel: string,
    signal: AbortSignal,
  ): Promise<SendResult | 'edit'> {
    // What was shown cannot be taken back in a stream.
    if (!whole.startsWith(stream.shown)) return await stopForEdit(stream, ts, channel, signal)
    while (stream.shown.length < whole.length) {
      const frame = whole.slice(stream.shown.length, stream.shown.length + maxFrameChars)
      const answer = await call('chat.appendStream', { channel, ts, markdown_text: frame }, signal)
      if (!answer.ok) return handleAppendFailure(stream, answer, true)
      stream.shown += frame
    }
    return { success: true, messageId: ts }
  }

  /** Ends a stream whose text is no longer right, so that it can be edited. */
  async function stopForEdit(
    stream: ReplyStream,
    ts: string,
    channel: string,
    signal: AbortSignal,
  ): Promise<SendResult | 'edit'> {
    const answer = await call('chat.stopStream', { channel, ts }, signal)
    // Refused: Slack has closed it already.
    if (answer.ok || answer.failure.problem === 'rejected') {
      stream.isOpen = false
      stream.shown = ''
      return 'edit'
    }
    return toSendResult(answer.failure)
  }

  /** A frame that may or may not have arrived: what is shown is not known, so only an edit can put it right. */
  function handleAppendFailure(stream: ReplyStream, { failure }: FailedCall, carried: boolean): SendResult | 'edit' {
    if (failure.problem === 'rejected') {
      log.debug({ error: failure.error }, 'a stream was closed; its message is edited from here on')
      stream.isOpen = false
      stream.shown = ''
      return 'edit'
    }
    if (failure.maybeSent === true && carried) stream.shown = unknownShownText
    return toSendResult(failure)
  }

  function handleStartFailure({ failure }: FailedCall, direct: boolean): SendResult | undefined {
    const { problem, code = '', error, retryAfterMs = 30_000 } = failure
    // Starting streams is limited more than posting is.
    if (problem === 'rate-limited') retryAt = clock() + retryAfterMs
    else if (problem !== 'rejected' || chatErrors.has(code)) return toSendResult(failure)
    else if (!direct && (code === 'channel_type_not_supported' || code.includes('recipient')))
      isSupportedInChannels = false
    else isSupported = false
    log.info({ error }, 'Slack does not stream this reply; it is shown with edits')
    return undefined
  }
}

type FailedCall = Extract<CallResult, { ok: false }>

/** The name of the metadata by which a message of ours is found again. */
export const deliveryEventType = 'hermes_delivery'

/** No text of a reply begins with it, so that the next frame finds that what is shown is not its beginning. */
const unknownShownText = '\u0000'

/** A post would fail alike. */
const chatErrors: ReadonlySet<string> = new Set([
  'channel_not_found',
  'is_archived',
  'not_in_channel',
  'thread_not_found',
  'restricted_action',
  'restricted_action_read_only_channel',
])

function toFrame({ text }: OutboundMessage): string {
  return escapeMentions(withoutPartialMention(text))
}

function streamKeyOf(channel: string, ts: string): string {
  return `${channel}:${ts}`
}

/** Whether Slack still shows a message as being written. */
export function isStreaming(message: JsonRecord): boolean {
  return textAt(message, 'streaming_state') === 'in_progress'
}
