/**
 * Keeps a socket to Slack open. Before Slack leaves one (about once an hour, and when it says so) a second is opened, and
 * the first is left once what came over it is acknowledged: nothing is missed in between. After a cut it is tried again
 * at once, then with short pauses.
 *
 * How a socket is opened is a parameter: here is only when.
 */
import { type Logger, linkAbortSignal, messageOf } from '#sdk'
import type { CallFailure } from '../errors.ts'

/** Something that Slack sent and wants acknowledged. */
export interface Envelope {
  readonly body: unknown
  /** How often it was delivered before. */
  readonly retries: number
  /** Tells Slack that it has arrived. Rejects when the socket is gone; Slack then delivers it again. */
  acknowledge(payload?: Readonly<Record<string, unknown>>): Promise<void>
}

export interface SocketEvents {
  /** Resolves when the envelope is done with. */
  onEnvelope(envelope: Envelope): Promise<void>
  /** Slack will leave this socket soon. */
  onDisconnectWarning(reason: string): void
  /** Anything came in: a frame, or the answer to a ping. */
  onActivity(): void
}

export interface OpenedSocket {
  /** Resolves with the reason when it has closed, whoever closed it. */
  readonly closed: Promise<string>
  /** How long Slack keeps it, where Slack said so. */
  readonly lifetimeMs: number | undefined
  /** Closes it. May be called twice. */
  close(): void
}

/** Resolves when Slack has greeted. Rejects with a `SocketError` where Slack refused, and when the signal aborts. */
export type OpenSocket = (events: SocketEvents, signal: AbortSignal) => Promise<OpenedSocket>

/** Slack's answer to the wish for a socket. */
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
  /** Slack does not accept the token any more. */
  readonly onUnauthorised: (error: string) => void
  /** There was a time without a socket, and it is over. */
  readonly onReconnected: () => void
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly clock: () => number
  readonly log: Logger
}

export interface SocketConnection {
  /** Opens the first one. Rejects as `OpenSocket` does. */
  connect(signal: AbortSignal): Promise<void>
  /** Leaves all sockets and opens no more; resolves when they are closed. May be called twice, and during `connect`. */
  stop(): Promise<void>
}

const openTimeoutMs = 5_000
const minBackoffMs = 250
const maxBackoffMs = 2_500
/** After a refusal that will hardly change by itself. */
const refusedBackoffMs = 30_000
/** How long an unfinished acknowledgement holds an old socket open. */
const acknowledgeGraceMs = 3_000
/** A socket that was open for so long has held. */
const stableAfterMs = 10_000
/** Slack keeps a socket for about an hour where it does not say. */
const defaultLifetimeMs = 55 * 60_000
const refreshMarginMs = 60_000

interface ActiveSocket {
  readonly socket: OpenedSocket
  /** Envelopes of it that are not done with. */
  readonly pendingEnvelopes: Set<Promise<void>>
}

export function createSocketConnection(deps: SocketConnectionDeps): SocketConnection {
  const { open, events, health, onUnauthorised, onReconnected, sleep, clock, log } = deps
  const stopping = new AbortController()
  const all = new Set<ActiveSocket>()
  let current: ActiveSocket | undefined
  let isReconnecting = false
  let openedAt = Number.NEGATIVE_INFINITY
  /** Sockets in a row that did not hold. */
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

  /** One attempt, bounded in time. */
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
            log.debug({ reason }, 'Slack will leave a socket')
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

  /** Acknowledgements go over the socket their envelope came by. */
  async function retire({ socket, pendingEnvelopes }: ActiveSocket): Promise<void> {
    const over = new AbortController()
    await Promise.race([Promise.all(pendingEnvelopes), sleep(acknowledgeGraceMs, over.signal)])
    over.abort()
    socket.close()
  }

  function handleClosed(reason: string): void {
    current = undefined
    if (stopping.signal.aborted) return
    wasDisconnected = true
    log.debug({ reason }, 'a socket to Slack has closed')
    reconnect()
  }

  /** Opens another socket, however long it takes. One search at a time. */
  function reconnect(): void {
    if (isReconnecting || stopping.signal.aborted) return
    isReconnecting = true
    void openNext().finally(() => {
      isReconnecting = false
      // It may have been lost again before the search was over.
      if (current === undefined) reconnect()
    })
  }

  function reportFailure(error: unknown): void {
    const reason = messageOf(error)
    if (error instanceof SocketError && error.failure.problem === 'unauthorised') onUnauthorised(reason)
    else if (current === undefined) health('degraded', `no connection to Slack: ${reason}`)
    else log.debug({ error: reason }, 'the next socket could not be opened')
  }

  async function openNext(): Promise<void> {
    shortLivedSockets = clock() - openedAt < stableAfterMs ? shortLivedSockets + 1 : 0
    // The first cut is mended at once; sockets that close as soon as they are open must not become a storm.
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
