/**
 * Keeps a socket to Slack open. Slack closes each socket after about an hour, and announces it. A second socket is opened
 * before that, and the first one is closed after its events are acknowledged, so that no event is lost. A lost connection is
 * reopened at once, then with short delays.
 */
import { linkAbortSignal, messageOf, type PlatformContext, sleep } from '#sdk'
import type { CallFailure } from '../errors.ts'

/** An event that must be acknowledged. */
export interface Envelope {
  readonly body: unknown
  /** The number of earlier deliveries. */
  readonly retries: number
  /** Rejects when the socket is closed. Slack then delivers the event again. */
  acknowledge(payload?: Readonly<Record<string, unknown>>): Promise<void>
}

export interface SocketEvents {
  /** Resolves when the envelope is handled. */
  onEnvelope(envelope: Envelope): Promise<void>
  /** Slack will close this socket soon. */
  onDisconnectWarning(reason: string): void
  /** Called for every frame and every pong. */
  onActivity(): void
}

export interface OpenedSocket {
  /** Resolves with the reason when the socket has closed. */
  readonly closed: Promise<string>
  /** The lifetime that Slack announced. */
  readonly lifetimeMs: number | undefined
  /** May be called twice. */
  close(): void
}

/** Resolves after Slack's `hello`. Rejects with `SocketError` when Slack refuses, and when the signal aborts. */
export type OpenSocket = (events: SocketEvents, signal: AbortSignal) => Promise<OpenedSocket>

/** A socket could not be opened. */
export class SocketError extends Error {
  readonly failure: CallFailure

  constructor(failure: CallFailure) {
    super(failure.error)
    this.name = 'SocketError'
    this.failure = failure
  }
}

/** What the adapter does when something happens on a socket. */
export interface SocketListener extends Pick<SocketEvents, 'onEnvelope'> {
  /** There is no socket any more. */
  onDisconnected(): void
  /** A socket is open again after a time without one. */
  onReconnected(): void
}

export interface SocketConnection {
  /** Opens the first socket. Rejects as `OpenSocket` does. */
  connect(signal: AbortSignal): Promise<void>
  /** Closes all sockets; resolves when they are closed. May be called twice, and during `connect`. */
  stop(): Promise<void>
}

const openTimeoutMs = 5_000
const minBackoffMs = 250
const maxBackoffMs = 2_500
/** After a refusal that needs a change of the app's settings. */
const refusedBackoffMs = 30_000
/** How long an old socket stays open for pending acknowledgements. */
const acknowledgeGraceMs = 3_000
/** A socket that was open for this long counts as stable. */
const stableAfterMs = 10_000
/** Used when Slack announces no lifetime. */
const defaultLifetimeMs = 55 * 60_000
const refreshMarginMs = 60_000

interface ActiveSocket {
  readonly socket: OpenedSocket
  /** Envelopes that are not handled yet. */
  readonly pendingEnvelopes: Set<Promise<void>>
}

interface ConnectionState {
  readonly context: Pick<PlatformContext, 'clock' | 'connection' | 'log'>
  readonly open: OpenSocket
  readonly listener: SocketListener
  readonly pause: typeof sleep
  readonly stopping: AbortSignal
  readonly all: Set<ActiveSocket>
  current: ActiveSocket | undefined
  isReconnecting: boolean
  openedAt: number
  /** Sockets in a row that were not stable. */
  shortLivedSockets: number
  wasDisconnected: boolean
}

export function createSocketConnection(
  context: Pick<PlatformContext, 'clock' | 'connection' | 'log'>,
  open: OpenSocket,
  listener: SocketListener,
  pause: typeof sleep = sleep,
): SocketConnection {
  const stopping = new AbortController()
  const state: ConnectionState = {
    context,
    open,
    listener,
    pause,
    stopping: stopping.signal,
    all: new Set(),
    current: undefined,
    isReconnecting: false,
    openedAt: Number.NEGATIVE_INFINITY,
    shortLivedSockets: 0,
    wasDisconnected: false,
  }
  return {
    async connect(signal) {
      useSocket(state, await openOne(state, signal))
    },
    async stop() {
      stopping.abort()
      for (const { socket } of state.all) socket.close()
      await Promise.all([...state.all].map(({ socket }) => socket.closed))
    },
  }
}

/** One attempt, with a time limit. */
async function openOne(state: ConnectionState, signal: AbortSignal): Promise<ActiveSocket> {
  const { open, listener, context } = state
  const limit = linkAbortSignal(signal, state.stopping)
  const pendingEnvelopes = new Set<Promise<void>>()
  let live: ActiveSocket | undefined
  const timer = setTimeout(limit.abort, openTimeoutMs)
  try {
    const socket = await open(
      {
        onActivity: () => context.connection.received(),
        async onEnvelope(envelope) {
          const work = listener.onEnvelope(envelope)
          pendingEnvelopes.add(work)
          await work
          pendingEnvelopes.delete(work)
        },
        onDisconnectWarning(reason) {
          context.log.debug({ event: 'slack.socket_expiring', reason }, 'Slack will close a socket')
          if (live !== undefined && live === state.current) reconnect(state)
        },
      },
      limit.signal,
    )
    live = { socket, pendingEnvelopes }
    return live
  } finally {
    clearTimeout(timer)
    limit.release()
  }
}

function useSocket(state: ConnectionState, live: ActiveSocket): void {
  state.all.add(live)
  const closed = new AbortController()
  void live.socket.closed.then((reason) => {
    closed.abort()
    state.all.delete(live)
    if (live === state.current) handleClosed(state, reason)
  })
  if (state.stopping.aborted) {
    live.socket.close()
    return
  }
  const before = state.current
  state.current = live
  state.openedAt = state.context.clock()
  if (before !== undefined) void retire(state, before)
  void refreshInTime(state, live, closed.signal)
}

async function refreshInTime(state: ConnectionState, live: ActiveSocket, closed: AbortSignal): Promise<void> {
  const lifetimeMs = live.socket.lifetimeMs ?? defaultLifetimeMs
  await state.pause(Math.max(lifetimeMs - refreshMarginMs, lifetimeMs / 2), closed)
  if (!closed.aborted && live === state.current) reconnect(state)
}

/** Acknowledgements must use the socket of their envelope. */
async function retire({ pause }: ConnectionState, { socket, pendingEnvelopes }: ActiveSocket): Promise<void> {
  const finished = new AbortController()
  await Promise.race([Promise.all(pendingEnvelopes), pause(acknowledgeGraceMs, finished.signal)])
  finished.abort()
  socket.close()
}

function handleClosed(state: ConnectionState, reason: string): void {
  state.current = undefined
  if (state.stopping.aborted) return
  state.wasDisconnected = true
  state.listener.onDisconnected()
  state.context.log.debug({ event: 'slack.socket_closed', reason }, 'socket closed')
  reconnect(state)
}

/** Opens another socket, with retries. Only one such loop runs at a time. */
function reconnect(state: ConnectionState): void {
  if (state.isReconnecting || state.stopping.aborted) return
  state.isReconnecting = true
  void openNext(state).finally(() => {
    state.isReconnecting = false
    // The new socket may have closed in the meantime.
    if (state.current === undefined) reconnect(state)
  })
}

function reportFailure({ context, current }: ConnectionState, error: unknown): void {
  const { connection, log } = context
  const reason = messageOf(error)
  if (error instanceof SocketError && error.failure.problem === 'unauthorised')
    connection.refused(`app_token: ${reason}`)
  else if (current === undefined) connection.health('degraded', `no connection to Slack: ${reason}`)
  else log.debug({ event: 'slack.socket_open_failed', reason }, 'next socket could not be opened')
}

async function openNext(state: ConnectionState): Promise<void> {
  const { stopping, context, listener, pause } = state
  const { connection, clock } = context
  state.shortLivedSockets = clock() - state.openedAt < stableAfterMs ? state.shortLivedSockets + 1 : 0
  // The first reconnect has no delay. Sockets that close at once must not cause a reconnect loop without delays.
  if (state.shortLivedSockets > 1) await pause(backoffMs(state.shortLivedSockets - 1), stopping)
  for (let attempt = 1; !stopping.aborted; attempt += 1) {
    try {
      useSocket(state, await openOne(state, stopping))
      if (state.wasDisconnected) listener.onReconnected()
      state.wasDisconnected = false
      connection.health('connected')
      return
    } catch (error) {
      if (stopping.aborted) return
      reportFailure(state, error)
      await pause(backoffAfter(error, attempt), stopping)
    }
  }
}

function backoffAfter(error: unknown, attempt: number): number {
  if (!(error instanceof SocketError)) return backoffMs(attempt)
  const { problem, retryAfterMs } = error.failure
  if (problem === 'rate-limited') return retryAfterMs ?? refusedBackoffMs
  return problem === 'temporary' ? backoffMs(attempt) : refusedBackoffMs
}

function backoffMs(attempt: number): number {
  return Math.min(maxBackoffMs, minBackoffMs * 2 ** Math.min(attempt - 1, 10))
}
