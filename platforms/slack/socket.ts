/**
 * Keeps a socket to Slack open. Before Slack leaves one (about once an hour, and when it says so) a second is opened, and
 * the first is left once what came over it is acknowledged: nothing is missed in between. After a cut it is tried again
 * at once, then with short pauses.
 *
 * How a socket is opened is a parameter: here is only when.
 */
import { follow, type Logger, messageOf } from '#sdk'
import type { Failure } from './errors.ts'

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
  envelope(envelope: Envelope): Promise<void>
  /** Slack will leave this socket soon. */
  leaving(reason: string): void
  /** Anything came in: a frame, or the answer to a ping. */
  alive(): void
}

export interface OpenedSocket {
  /** Resolves with the reason when it has closed, whoever closed it. */
  readonly closed: Promise<string>
  /** How long Slack keeps it, where Slack said so. */
  readonly livesMs: number | undefined
  /** Closes it. May be called twice. */
  leave(): void
}

/** Resolves when Slack has greeted. Rejects with a `SocketFailure` where Slack refused, and when the signal aborts. */
export type OpenSocket = (events: SocketEvents, signal: AbortSignal) => Promise<OpenedSocket>

/** Slack's answer to the wish for a socket. */
export class SocketFailure extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.error)
    this.name = 'SocketFailure'
    this.failure = failure
  }
}

export interface SocketDeps {
  readonly open: OpenSocket
  readonly events: Omit<SocketEvents, 'leaving'>
  readonly health: (state: 'connected' | 'degraded', reason?: string) => void
  /** Slack does not accept the token any more. */
  readonly refused: (error: string) => void
  /** There was a time without a socket, and it is over. */
  readonly regained: () => void
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly clock: () => number
  readonly log: Logger
}

export interface Socket {
  /** Opens the first one. Rejects as `OpenSocket` does. */
  connect(signal: AbortSignal): Promise<void>
  /** Leaves all sockets and opens no more; resolves when they are closed. May be called twice, and during `connect`. */
  stop(): Promise<void>
}

const openLimitMs = 5_000
const firstPauseMs = 250
const longestPauseMs = 2_500
/** After a refusal that will hardly change by itself. */
const refusedPauseMs = 30_000
/** How long an unfinished acknowledgement holds an old socket open. */
const graceMs = 3_000
/** A socket that was open for so long has held. */
const heldMs = 10_000
/** Slack keeps a socket for about an hour where it does not say. */
const defaultLifeMs = 55 * 60_000
const refreshMarginMs = 60_000

interface Live {
  readonly socket: OpenedSocket
  /** Envelopes of it that are not done with. */
  readonly busy: Set<Promise<void>>
}

export function createSocket(deps: SocketDeps): Socket {
  const { open, events, health, refused, regained, pause, clock, log } = deps
  const stopping = new AbortController()
  const all = new Set<Live>()
  let current: Live | undefined
  let seeking = false
  let openedAt = Number.NEGATIVE_INFINITY
  /** Sockets in a row that did not hold. */
  let short = 0
  let cutOff = false

  return {
    async connect(signal) {
      adopt(await openOne(signal))
    },
    async stop() {
      stopping.abort()
      for (const { socket } of all) socket.leave()
      await Promise.all([...all].map(({ socket }) => socket.closed))
    },
  }

  /** One attempt, bounded in time. */
  async function openOne(signal: AbortSignal): Promise<Live> {
    const limit = follow(signal, stopping.signal)
    const busy = new Set<Promise<void>>()
    let live: Live | undefined
    const timer = setTimeout(limit.abort, openLimitMs)
    try {
      const socket = await open(
        {
          alive: events.alive,
          async envelope(envelope) {
            const work = events.envelope(envelope)
            busy.add(work)
            await work
            busy.delete(work)
          },
          leaving(reason) {
            log.debug({ reason }, 'Slack will leave a socket')
            if (live !== undefined && live === current) seek()
          },
        },
        limit.signal,
      )
      live = { socket, busy }
      return live
    } finally {
      clearTimeout(timer)
      limit.release()
    }
  }

  function adopt(live: Live): void {
    all.add(live)
    const closed = new AbortController()
    void live.socket.closed.then((reason) => {
      closed.abort()
      all.delete(live)
      if (live === current) lost(reason)
    })
    if (stopping.signal.aborted) live.socket.leave()
    if (stopping.signal.aborted) return
    const before = current
    current = live
    openedAt = clock()
    if (before !== undefined) void retire(before)
    void refreshInTime(live, closed.signal)
  }

  async function refreshInTime(live: Live, closed: AbortSignal): Promise<void> {
    const lifeMs = live.socket.livesMs ?? defaultLifeMs
    await pause(Math.max(lifeMs - refreshMarginMs, lifeMs / 2), closed)
    if (!closed.aborted && live === current) seek()
  }

  /** Acknowledgements go over the socket their envelope came by. */
  async function retire({ socket, busy }: Live): Promise<void> {
    const over = new AbortController()
    await Promise.race([Promise.all(busy), pause(graceMs, over.signal)])
    over.abort()
    socket.leave()
  }

  function lost(reason: string): void {
    current = undefined
    if (stopping.signal.aborted) return
    cutOff = true
    log.debug({ reason }, 'a socket to Slack has closed')
    seek()
  }

  /** Opens another socket, however long it takes. One search at a time. */
  function seek(): void {
    if (seeking || stopping.signal.aborted) return
    seeking = true
    void search().finally(() => {
      seeking = false
      // It may have been lost again before the search was over.
      if (current === undefined) seek()
    })
  }

  function tell(error: unknown): void {
    const reason = messageOf(error)
    if (error instanceof SocketFailure && error.failure.problem === 'unauthorised') refused(reason)
    else if (current === undefined) health('degraded', `no connection to Slack: ${reason}`)
    else log.debug({ error: reason }, 'the next socket could not be opened')
  }

  async function search(): Promise<void> {
    short = clock() - openedAt < heldMs ? short + 1 : 0
    // The first cut is mended at once; sockets that close as soon as they are open must not become a storm.
    if (short > 1) await pause(pauseOf(short - 1), stopping.signal)
    for (let attempt = 1; !stopping.signal.aborted; attempt += 1) {
      try {
        adopt(await openOne(stopping.signal))
        if (cutOff) regained()
        cutOff = false
        health('connected')
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        tell(error)
        await pause(pauseAfter(error, attempt), stopping.signal)
      }
    }
  }
}

function pauseAfter(error: unknown, attempt: number): number {
  if (!(error instanceof SocketFailure)) return pauseOf(attempt)
  const { problem, retryAfterMs } = error.failure
  if (problem === 'rate-limited') return retryAfterMs ?? refusedPauseMs
  return problem === 'temporary' ? pauseOf(attempt) : refusedPauseMs
}

function pauseOf(attempt: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempt - 1, 10))
}
