/**
 * Replies that grow by Slack's own streaming: `chat.startStream`, `chat.appendStream`, `chat.stopStream`. The stream is
 * the final message.
 *
 * Slack offers it in threads only, not in every workspace and channel, and closes a stream by itself after some minutes.
 * Wherever it says no, the caller goes on with posts and edits.
 */
import { createRecent, type Logger, type OutboundMessage, type SendResult } from '#sdk'
import { isDirect } from './address.ts'
import { neutralMarkdown, streamable } from './neutral-markdown.ts'
import { type Fields, textIn, tsIn } from './payload.ts'
import { type Answer, resultOf, type SlackCall } from './web.ts'

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

export interface StreamDeps {
  readonly call: SlackCall
  readonly clock: () => number
  readonly log: Logger
  readonly teamId: () => string
  /** A stream has got a frame. */
  grew(ts: string): void
  /** Who wrote last in a thread: a stream in a channel is addressed to a person. */
  askedBy(channel: string, threadTs: string): string | undefined
}

interface Stream {
  /** As much as Slack has surely taken, as it was sent. */
  shown: string
  open: boolean
}

/** What one call takes. */
const frameChars = 12_000

export function createStreams({ call, clock, log, teamId, grew, askedBy }: StreamDeps): Streams {
  const streams = createRecent<Stream>(500)
  /** Whether Slack streams here at all, and in channels. */
  let anywhere = true
  let inChannels = true
  let notBefore = 0

  return {
    async start(message, channel, signal) {
      const { threadId } = message.target
      const direct = isDirect({ channel })
      if (!anywhere || (!direct && !inChannels) || threadId === undefined || clock() < notBefore) return undefined
      const userId = askedBy(channel, threadId)
      if (!direct && userId === undefined) return undefined
      const frame = frameOf(message).slice(0, frameChars)
      if (frame === '') return undefined
      const to = userId === undefined ? {} : { recipient_user_id: userId, recipient_team_id: teamId() }
      const args = { channel, thread_ts: threadId, markdown_text: frame, ...to }
      const answer = await call('chat.startStream', args, signal)
      if (!answer.ok) return refused(answer, direct)
      const ts = tsIn(answer.data)
      if (ts === undefined) return { success: true }
      streams.set(keyOf(channel, ts), { shown: frame, open: true })
      grew(ts)
      return { success: true, messageId: ts }
    },

    async grow(ts, message, channel, signal) {
      const stream = streams.get(keyOf(channel, ts))
      if (stream === undefined || !stream.open) return 'edit'
      grew(ts)
      return await append(stream, ts, frameOf(message), channel, signal)
    },

    async finish(ts, message, channel, signal) {
      const key = keyOf(channel, ts)
      const stream = streams.get(key)
      if (stream === undefined) return 'edit'
      const whole = neutralMarkdown(message.text)
      // The same final once more, because its receipt was lost.
      if (!stream.open) return stream.shown === whole ? { success: true, messageId: ts } : 'edit'
      const plain = message.buttons === undefined && whole.startsWith(stream.shown)
      if (!plain) return await stopAnd(stream, ts, channel, signal)
      if (whole.length - stream.shown.length > frameChars) {
        const appended = await append(stream, ts, whole.slice(0, whole.length - frameChars), channel, signal)
        if (appended === 'edit' || !appended.success) return appended
      }
      const rest = whole.slice(stream.shown.length)
      const metadata = { event_type: deliveryEvent, event_payload: { id: message.deliveryId } }
      const args = { channel, ts, metadata, ...(rest === '' ? {} : { markdown_text: rest }) }
      const answer = await call('chat.stopStream', args, signal)
      if (answer.ok) {
        streams.set(key, { shown: whole, open: false })
        return { success: true, messageId: ts }
      }
      return doubtful(stream, answer, rest !== '')
    },

    async close(ts, channel, signal) {
      streams.delete(keyOf(channel, ts))
      const answer = await call('chat.stopStream', { channel, ts }, signal)
      if (!answer.ok) log.debug({ channel, error: answer.failure.error }, 'a stream could not be closed')
    },

    isOpen: (ts, channel) => streams.get(keyOf(channel, ts))?.open === true,
  }

  async function append(
    stream: Stream,
    ts: string,
    whole: string,
    channel: string,
    signal: AbortSignal,
  ): Promise<SendResult | 'edit'> {
    // What was shown cannot be taken back in a stream.
    if (!whole.startsWith(stream.shown)) return await stopAnd(stream, ts, channel, signal)
    while (stream.shown.length < whole.length) {
      const frame = whole.slice(stream.shown.length, stream.shown.length + frameChars)
      const answer = await call('chat.appendStream', { channel, ts, markdown_text: frame }, signal)
      if (!answer.ok) return doubtful(stream, answer, true)
      stream.shown += frame
    }
    return { success: true, messageId: ts }
  }

  /** Ends a stream whose text is no longer right, so that it can be edited. */
  async function stopAnd(
    stream: Stream,
    ts: string,
    channel: string,
    signal: AbortSignal,
  ): Promise<SendResult | 'edit'> {
    const answer = await call('chat.stopStream', { channel, ts }, signal)
    // Refused: Slack has closed it already.
    if (answer.ok || answer.failure.problem === 'rejected') {
      stream.open = false
      stream.shown = ''
      return 'edit'
    }
    return resultOf(answer.failure)
  }

  /** A frame that may or may not have arrived: what is shown is not known, so only an edit can put it right. */
  function doubtful(stream: Stream, { failure }: Refusal, carried: boolean): SendResult | 'edit' {
    if (failure.problem === 'rejected') {
      log.debug({ error: failure.error }, 'a stream was closed; its message is edited from here on')
      stream.open = false
      stream.shown = ''
      return 'edit'
    }
    if (failure.maybeSent === true && carried) stream.shown = unknownText
    return resultOf(failure)
  }

  function refused({ failure }: Refusal, direct: boolean): SendResult | undefined {
    const { problem, code = '', error, retryAfterMs = 30_000 } = failure
    // Starting streams is limited more than posting is.
    if (problem === 'rate-limited') notBefore = clock() + retryAfterMs
    else if (problem !== 'rejected' || aboutTheChat.has(code)) return resultOf(failure)
    else if (!direct && (code === 'channel_type_not_supported' || code.includes('recipient'))) inChannels = false
    else anywhere = false
    log.info({ error }, 'Slack does not stream this reply; it is shown with edits')
    return undefined
  }
}

type Refusal = Extract<Answer, { ok: false }>

/** The name of the metadata by which a message of ours is found again. */
export const deliveryEvent = 'hermes_delivery'

/** No text of a reply begins with it, so that the next frame finds that what is shown is not its beginning. */
const unknownText = '\u0000'

/** A post would fail alike. */
const aboutTheChat: ReadonlySet<string> = new Set([
  'channel_not_found',
  'is_archived',
  'not_in_channel',
  'thread_not_found',
  'restricted_action',
  'restricted_action_read_only_channel',
])

function frameOf({ text }: OutboundMessage): string {
  return neutralMarkdown(streamable(text))
}

function keyOf(channel: string, ts: string): string {
  return `${channel}:${ts}`
}

/** Whether Slack still shows a message as being written. */
export function isStreaming(message: Fields): boolean {
  return textIn(message, 'streaming_state') === 'in_progress'
}
