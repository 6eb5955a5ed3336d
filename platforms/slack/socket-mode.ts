/**
 * One socket of Slack's Socket Mode, over the SDK's client: it opens the socket, greets, pings and acknowledges. When to
 * open the next one is not left to it (socket.ts), for it leaves a socket as soon as Slack warns.
 */
import diagnostics from 'node:diagnostics_channel'
import type { SocketModeReceiver } from '@slack/bolt'
import { messageOf } from '#sdk'
import { failureOf } from './errors.ts'
import { type Fields, fieldsIn, fieldsOf, numberIn, textIn } from './payload.ts'
import { type Envelope, type OpenedSocket, type SocketEvents, SocketFailure } from './socket.ts'

/** How long a half-open socket may take to say goodbye. */
const closeLimitMs = 500
/** Where undici, on which the SDK stands, tells of answered pings. */
const heartbeats = ['undici:websocket:ping', 'undici:websocket:pong']

/** @param receiver fresh, without reconnecting of its own, its HTTP calls ended by the signal */
export async function openSocketMode(
  { client }: Pick<SocketModeReceiver, 'client'>,
  events: SocketEvents,
  signal: AbortSignal,
): Promise<OpenedSocket> {
  const closed = Promise.withResolvers<string>()
  let reason = 'Slack closed the connection'
  let hello: Fields = {}
  let address = ''
  let forced: NodeJS.Timeout | undefined

  const heard = (message: unknown) => {
    if (address !== '' && textIn(fieldsOf(message), 'url') === undefined && urlOf(message) === address) events.alive()
  }
  for (const name of heartbeats) diagnostics.subscribe(name, heard)
  void closed.promise.then(() => {
    clearTimeout(forced)
    for (const name of heartbeats) diagnostics.unsubscribe(name, heard)
  })

  // The SDK's own reader of frames, with ours before it: a warning must not reach it.
  const readers = client.listeners('ws_message')
  client.removeAllListeners('ws_message')
  client.on('ws_message', (data: unknown, isBinary: unknown) => {
    events.alive()
    const frame = controlFrame(data)
    const type = textIn(frame, 'type')
    if (type === 'hello') hello = frame
    if (type === 'disconnect') return events.leaving(textIn(frame, 'reason') ?? 'no reason given')
    for (const read of readers) void settle(read(data, isBinary))
  })
  client.on('slack_event', (event: unknown) => {
    const envelope = envelopeOf(fieldsOf(event))
    if (envelope !== undefined) void events.envelope(envelope)
  })
  client.on('authenticated', (opened: unknown) => {
    const url = textIn(fieldsOf(opened), 'url') ?? ''
    address = URL.canParse(url) ? new URL(url).href : ''
  })
  client.on('connecting', () => {
    if (client.websocket !== undefined) letProcessEnd(client.websocket)
    // Too late to be called off otherwise: thrown here it rejects the start.
    signal.throwIfAborted()
  })
  client.on('error', (error: unknown) => {
    reason = `the connection failed: ${messageOf(error)}`
  })
  client.on('disconnected', () => closed.resolve(reason))

  signal.addEventListener('abort', leave, { once: true })
  try {
    await client.start()
    signal.throwIfAborted()
  } catch (thrown) {
    leave()
    throw failureOfStart(thrown, reason, signal)
  } finally {
    signal.removeEventListener('abort', leave)
  }
  return { closed: closed.promise, livesMs: lifeOf(hello), leave }

  /** A second call does not wait for the answer to the goodbye. */
  function leave(): void {
    void settle(client.disconnect())
    forced ??= setTimeout(() => void settle(client.disconnect()), closeLimitMs)
    if (client.websocket === undefined) closed.resolve(reason)
  }
}

/**
 * The SDK waits half a minute for the answer to its goodbye, and loses hold of that timer when the connection breaks
 * meanwhile: a daemon that has stopped would stay for as long.
 */
function letProcessEnd(socket: object): void {
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
function failureOfStart(thrown: unknown, reason: string, signal: AbortSignal): SocketFailure {
  if (signal.aborted) return new SocketFailure({ problem: 'temporary', error: 'Slack did not open a socket in time' })
  if (thrown === undefined) return new SocketFailure({ problem: 'temporary', error: `${reason} before it had greeted` })
  return new SocketFailure(failureOf(thrown, 'apps.connections.open'))
}

function envelopeOf(event: Fields): Envelope | undefined {
  const ack = event['ack']
  if (typeof ack !== 'function') return undefined
  return {
    body: event['body'],
    retries: numberIn(event, 'retry_num') ?? 0,
    acknowledge: async (payload) => {
      await ack(payload)
    },
  }
}

/** `hello` and `disconnect`; anything else is the SDK's to read. */
function controlFrame(data: unknown): Fields {
  if (typeof data !== 'string' || !/"type"\s*:\s*"(hello|disconnect)"/.test(data)) return {}
  try {
    return fieldsOf(JSON.parse(data))
  } catch {
    // The SDK reads it next, and ignores it with a line in its log.
    return {}
  }
}

function lifeOf(hello: Fields): number | undefined {
  const seconds = numberIn(fieldsIn(hello, 'debug_info'), 'approximate_connection_time')
  return seconds === undefined || seconds <= 0 ? undefined : seconds * 1_000
}

function urlOf(message: unknown): string | undefined {
  const socket =
    typeof message === 'object' && message !== null && 'websocket' in message ? message.websocket : undefined
  const hasUrl = typeof socket === 'object' && socket !== null && 'url' in socket
  return hasUrl && typeof socket.url === 'string' ? socket.url : undefined
}

/** Waits for work of the SDK whose failure says nothing that `disconnected` does not say. */
async function settle(work: unknown): Promise<void> {
  try {
    await work
  } catch {
    // A frame that could not be read, or a socket that was gone already.
  }
}
