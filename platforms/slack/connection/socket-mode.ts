/**
 * One socket of Slack's Socket Mode, over the SDK's client: it opens the socket, greets, pings and acknowledges. When to
 * open the next one is not left to it (socket.ts), for it leaves a socket as soon as Slack warns.
 */
import diagnostics from 'node:diagnostics_channel'
import type { SocketModeReceiver } from '@slack/bolt'
import { messageOf } from '#sdk'
import { toCallFailure } from '../errors.ts'
import { asRecord, type JsonRecord, numberAt, recordAt, textAt } from '../inbound/payload.ts'
import { type Envelope, type OpenedSocket, SocketError, type SocketEvents } from './socket.ts'

/** How long a half-open socket may take to say goodbye. */
const closeTimeoutMs = 500
/** Where undici, on which the SDK stands, tells of answered pings. */
const pingChannels = ['undici:websocket:ping', 'undici:websocket:pong']

/** @param receiver fresh, without reconnecting of its own, its HTTP calls ended by the signal */
export async function openSocketMode(
  { client }: Pick<SocketModeReceiver, 'client'>,
  events: SocketEvents,
  signal: AbortSignal,
): Promise<OpenedSocket> {
  const closed = Promise.withResolvers<string>()
  let reason = 'Slack closed the connection'
  let hello: JsonRecord = {}
  let address = ''
  let forced: NodeJS.Timeout | undefined

  const heard = (message: unknown) => {
    if (address !== '' && textAt(asRecord(message), 'url') === undefined && socketUrlOf(message) === address)
      events.onActivity()
  }
  for (const name of pingChannels) diagnostics.subscribe(name, heard)
  void closed.promise.then(() => {
    clearTimeout(forced)
    for (const name of pingChannels) diagnostics.unsubscribe(name, heard)
  })

  // The SDK's own reader of frames, with ours before it: a warning must not reach it.
  const readers = client.listeners('ws_message')
  client.removeAllListeners('ws_message')
  client.on('ws_message', (data: unknown, isBinary: unknown) => {
    events.onActivity()
    const frame = parseControlFrame(data)
    const type = textAt(frame, 'type')
    if (type === 'hello') hello = frame
    if (type === 'disconnect') return events.onDisconnectWarning(textAt(frame, 'reason') ?? 'no reason given')
    for (const read of readers) void ignoreRejection(read(data, isBinary))
  })
  client.on('slack_event', (event: unknown) => {
    const envelope = toEnvelope(asRecord(event))
    if (envelope !== undefined) void events.onEnvelope(envelope)
  })
  client.on('authenticated', (opened: unknown) => {
    const url = textAt(asRecord(opened), 'url') ?? ''
    address = URL.canParse(url) ? new URL(url).href : ''
  })
  client.on('connecting', () => {
    if (client.websocket !== undefined) unrefCloseTimer(client.websocket)
    // Too late to be called off otherwise: thrown here it rejects the start.
    signal.throwIfAborted()
  })
  client.on('error', (error: unknown) => {
    reason = `the connection failed: ${messageOf(error)}`
  })
  client.on('disconnected', () => closed.resolve(reason))

  signal.addEventListener('abort', close, { once: true })
  try {
    await client.start()
    signal.throwIfAborted()
  } catch (thrown) {
    close()
    throw toSocketError(thrown, reason, signal)
  } finally {
    signal.removeEventListener('abort', close)
  }
  return { closed: closed.promise, lifetimeMs: connectionTimeOf(hello), close }

  /** A second call does not wait for the answer to the goodbye. */
  function close(): void {
    void ignoreRejection(client.disconnect())
    forced ??= setTimeout(() => void ignoreRejection(client.disconnect()), closeTimeoutMs)
    if (client.websocket === undefined) closed.resolve(reason)
  }
}

/**
 * The SDK waits half a minute for the answer to its goodbye, and loses hold of that timer when the connection breaks
 * meanwhile: a daemon that has stopped would stay for as long.
 */
function unrefCloseTimer(socket: object): void {
  let waiting: unknown
  Object.defineProperty(socket, 'closeHandshakeTimeout', {
    get: () => waiting,
    set(timer: unknown) {
      waiting = timer
      if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
        timer.unref()
    },
  })
}

/** The SDK rejects with nothing at all where a socket closes before the greeting. */
function toSocketError(thrown: unknown, reason: string, signal: AbortSignal): SocketError {
  if (signal.aborted) return new SocketError({ problem: 'temporary', error: 'Slack did not open a socket in time' })
  if (thrown === undefined) return new SocketError({ problem: 'temporary', error: `${reason} before it had greeted` })
  return new SocketError(toCallFailure(thrown, 'apps.connections.open'))
}

function toEnvelope(event: JsonRecord): Envelope | undefined {
  const ack = event['ack']
  if (typeof ack !== 'function') return undefined
  return {
    body: event['body'],
    retries: numberAt(event, 'retry_num') ?? 0,
    acknowledge: async (payload) => {
      await ack(payload)
    },
  }
}

/** `hello` and `disconnect`; anything else is the SDK's to read. */
function parseControlFrame(data: unknown): JsonRecord {
  if (typeof data !== 'string' || !/"type"\s*:\s*"(hello|disconnect)"/.test(data)) return {}
  try {
    return asRecord(JSON.parse(data))
  } catch {
    // The SDK reads it next, and ignores it with a line in its log.
    return {}
  }
}

function connectionTimeOf(hello: JsonRecord): number | undefined {
  const seconds = numberAt(recordAt(hello, 'debug_info'), 'approximate_connection_time')
  return seconds === undefined || seconds <= 0 ? undefined : seconds * 1_000
}

function socketUrlOf(message: unknown): string | undefined {
  const socket =
    typeof message === 'object' && message !== null && 'websocket' in message ? message.websocket : undefined
  const hasUrl = typeof socket === 'object' && socket !== null && 'url' in socket
  return hasUrl && typeof socket.url === 'string' ? socket.url : undefined
}

/** Waits for work of the SDK whose failure says nothing that `disconnected` does not say. */
async function ignoreRejection(work: unknown): Promise<void> {
  try {
    await work
  } catch {
    // A frame that could not be read, or a socket that was gone already.
  }
}
