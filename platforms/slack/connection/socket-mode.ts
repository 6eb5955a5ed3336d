/**
 * Opens one socket of Slack's Socket Mode with the SDK's client, which handles the handshake, pings and acknowledgements.
 * socket.ts decides when to open the next socket, because the SDK closes a socket as soon as Slack announces its end.
 *
 * This file relies on internals of the SDK. test/platforms/slack/sdk-internals.test.ts checks them.
 */
import diagnostics from 'node:diagnostics_channel'
import type { SocketModeReceiver } from '@slack/bolt'
import { messageOf, parseJson } from '#sdk'
import { toCallFailure } from '../errors.ts'
import { asRecord, type JsonRecord, numberAt, recordAt, textAt } from '../inbound/payload.ts'
import { type Envelope, type OpenedSocket, SocketError, type SocketEvents } from './socket.ts'

/** The time limit of the close handshake on a half-open socket. */
const closeTimeoutMs = 500
/** The diagnostics channels on which undici, used by the SDK, publishes pings and pongs. */
const pingChannels = ['undici:websocket:ping', 'undici:websocket:pong']

/** @param receiver new, without automatic reconnects; the signal must abort its HTTP calls */
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

  const onPing = (message: unknown) => {
    if (address !== '' && textAt(asRecord(message), 'url') === undefined && socketUrlOf(message) === address)
      events.onActivity()
  }
  for (const name of pingChannels) diagnostics.subscribe(name, onPing)
  void closed.promise.then(() => {
    clearTimeout(forced)
    for (const name of pingChannels) diagnostics.unsubscribe(name, onPing)
  })

  // Wraps the SDK's listener for frames, so that a disconnect warning does not reach it.
  const listeners = client.listeners('ws_message')
  client.removeAllListeners('ws_message')
  client.on('ws_message', (data: unknown, isBinary: unknown) => {
    events.onActivity()
    const frame = parseControlFrame(data)
    const type = textAt(frame, 'type')
    if (type === 'hello') hello = frame
    if (type === 'disconnect') return events.onDisconnectWarning(textAt(frame, 'reason') ?? 'no reason given')
    for (const listener of listeners) void ignoreRejection(listener(data, isBinary))
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
    // The SDK accepts no signal. An exception here rejects `start`.
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

  /** A second call of `disconnect` does not wait for the close handshake. */
  function close(): void {
    void ignoreRejection(client.disconnect())
    forced ??= setTimeout(() => void ignoreRejection(client.disconnect()), closeTimeoutMs)
    if (client.websocket === undefined) closed.resolve(reason)
  }
}

/**
 * The SDK waits 30 seconds for the close handshake, and does not clear that timer when the connection breaks. The timer
 * would keep a stopped daemon alive.
 */
function unrefCloseTimer(socket: object): void {
  let current: unknown
  Object.defineProperty(socket, 'closeHandshakeTimeout', {
    get: () => current,
    set(timer: unknown) {
      current = timer
      if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
        timer.unref()
    },
  })
}

/** The SDK rejects with `undefined` when a socket closes before `hello`. */
function toSocketError(thrown: unknown, reason: string, signal: AbortSignal): SocketError {
  if (signal.aborted) return new SocketError({ problem: 'temporary', error: 'opening a socket timed out' })
  if (thrown === undefined) return new SocketError({ problem: 'temporary', error: `${reason} before hello` })
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

/** Parses `hello` and `disconnect`. The SDK parses the other frames. */
function parseControlFrame(data: unknown): JsonRecord {
  if (typeof data !== 'string' || !/"type"\s*:\s*"(hello|disconnect)"/.test(data)) return {}
  // The SDK also fails to parse other frames, logs that, and ignores them.
  return asRecord(parseJson(data))
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

/** The event `disconnected` reports the same failures. */
async function ignoreRejection(work: unknown): Promise<void> {
  try {
    await work
  } catch {
    // An invalid frame, or a socket that was already closed.
  }
}
