/**
 * Keeps a socket to Slack open. Slack closes each socket after about an hour, and announces it. A second socket is opened
 * before that, and the first one is closed after its events are acknowledged, so that no event is lost. A lost connection is
 * reopened at once, then with short delays.
 *
 * The function that opens a socket is a parameter.
 */
import { type Logger, linkAbortSignal, messageOf } from '#sdk'
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

export interface SocketConnectionDeps {
  readonly open: OpenSocket
  readonly events: Omit<SocketEvents, 'onDisconnectWarning'>
  readonly health: (state: 'connected' | 'degraded', reason?: string) => void
  /** Slack rejects the token. */
  readonly onUnauthorised: (error: string) => void
  /** A socket is open again after a time without one. */
  readonly onReconnected: () => void
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly clock: () => number
  readonly log: Logger
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

export function createSocketConnection(deps: SocketConnectionDeps): SocketConnection {
  const { open, events, health, onUnauthorised, onReconnected, sleep, clock, log } = deps
  const stopping = new AbortController()
  const all = new Set<ActiveSocket>()
  let current: ActiveSocket | undefined
  let isReconnecting = false
  let openedAt = Number.NEGATIVE_INFINITY
  /** Sockets in a row that were not stable. */
  let shortLivedSockets = 0
  let wasDisconnected = false

  return {
    async connect(signal) {
      useSocket(await openOne(signal))
    },
    async stop() {
      stopping.abort()
      for (const { socket } of all) socket.close()
      await Promise.all([...all].map(({ socket }) => socket.closed))
    },
  }

  /** One attempt, with a time limit. */
  async function openOne(signal: AbortSignal): Promise<ActiveSocket> {
    const limit = linkAbortSignal(signal, stopping.signal)
    const pendingEnvelopes = new Set<Promise<void>>()
    let live: ActiveSocket | undefined
    const timer = setTimeout(limit.abort, openTimeoutMs)
    try {
      const socket = await open(
        {
          onActivity: events.onActivity,
          async onEnvelope(envelope) {
            const work = events.onEnvelope(envelope)
            pendingEnvelopes.add(work)
            await work
            pendingEnvelopes.delete(work)
          },
          onDisconnectWarning(reason) {
            log.debug({ event: 'slack.socket_expiring', reason }, 'Slack will close a socket')
            if (live !== undefined && live === current) reconnect()
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

  function useSocket(live: ActiveSocket): void {
    all.add(live)
    const closed = new AbortController()
    void live.socket.closed.then((reason) => {
      closed.abort()
      all.delete(live)
      if (live === current) handleClosed(reason)
    })
    if (stopping.signal.aborted) live.socket.close()
    if (stopping.signal.aborted) return
    const before = current
    current = live
    openedAt = clock()
    if (before !== undefined) void retire(before)
    void refreshInTime(live, closed.signal)
  }

  async function refreshInTime(live: ActiveSocket, closed: AbortSignal): Promise<void> {
    const lifeMs = live.socket.lifetimeMs ?? defaultLifetimeMs
    await sleep(Math.max(lifeMs - refreshMarginMs, lifeMs / 2), closed)
    if (!closed.aborted && live === current) reconnect()
  }

  /** Acknowledgements must use the socket of their envelope. */
  async function retire({ socket, pendingEnvelopes }: ActiveSocket): Promise<void> {
    const finished = new AbortController()
    await Promise.race([Promise.all(pendingEnvelopes), sleep(acknowledgeGraceMs, finished.signal)])
    finished.abort()
    socket.close()
  }

  function handleClosed(reason: string): void {
    current = undefined
    if (stopping.signal.aborted) return
    wasDisconnected = true
    log.debug({ event: 'slack.socket_closed', reason }, 'socket closed')
    reconnect()
  }

  /** Opens another socket, with retries. Only one such loop runs at a time. */
  function reconnect(): void {
    if (isReconnecting || stopping.signal.aborted) return
    isReconnecting = true
    void openNext().finally(() => {
      isReconnecting = false
      // The new socket may have closed in the meantime.
      if (current === undefined) reconnect()
    })
  }

  function reportFailure(error: unknown): void {
    const reason = messageOf(error)
    if (error instanceof SocketError && error.failure.problem === 'unauthorised') onUnauthorised(reason)
    else if (current === undefined) health('degraded', `no connection to Slack: ${reason}`)
    else log.debug({ event: 'slack.socket_open_failed', error: reason }, 'next socket could not be opened')
  }

  async function openNext(): Promise<void> {
    shortLivedSockets = clock() - openedAt < stableAfterMs ? shortLivedSockets + 1 : 0
    // The first reconnect has no delay. Sockets that close at once must not cause a reconnect loop without delays.
    if (shortLivedSockets > 1) await sleep(backoffMs(shortLivedSockets - 1), stopping.signal)
    for (let attempt = 1; !stopping.signal.aborted; attempt += 1) {
      try {
        useSocket(await openOne(stopping.signal))
        if (wasDisconnected) onReconnected()
        wasDisconnected = false
        health('connected')
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        reportFailure(error)
        await sleep(backoffAfter(error, attempt), stopping.signal)
      }
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
