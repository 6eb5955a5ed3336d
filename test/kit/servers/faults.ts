/**
 * Faults on demand for a local server that stands in for a vendor: it asks before it applies a call, and is told to go
 * on, to lose its answer, or that the fault has answered already.
 *
 *     const met = await faults.meet({ method: 'sendMessage', chat }, response)
 *     if (met === 'answered') return
 *     const result = apply(body)
 *     if (met === 'lose-answer') return faults.cut(response)
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { createRateWindow, type RateWindow, type RateWindowOptions } from './rate-window.ts'

/** One call of the client, as its server understands it. */
export interface FaultedCall {
  /** The vendor's word: `sendMessage`, `POST /channels/:id/messages`. */
  readonly method: string
  /** The chat it acts on, where it does. */
  readonly chat?: string
}

/** Which calls: those of this method, those whose method fits, those that fit. Without it every call. */
export type CallMatcher = string | RegExp | ((call: FaultedCall) => boolean)

export interface FaultResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text as it is, anything else as JSON. */
  readonly body?: unknown
}

export interface FaultOptions {
  /** How the vendor says "too many", so many milliseconds before the window ends. */
  readonly tooMany?: (waitMs: number, window: RateWindowOptions) => FaultResponse
  /** The smallest wait the vendor can name, ms: 1,000 where it counts in seconds. Windows end at a whole one. */
  readonly unitMs?: number
  /** ms; by default a clock that only goes forward. */
  readonly now?: () => number
}

/** `refuse`: nobody listens. `cut`: connections are taken and reset. `silent`: they are taken and never answered (half-open). */
export type OutageKind = 'refuse' | 'cut' | 'silent'

export interface Faults {
  /** The next `times` (1) fitting calls are answered with this and not applied. */
  respond(on: CallMatcher, answer: FaultResponse, times?: number): void
  /** The connection of the next `times` fitting calls is reset before they are applied. */
  reset(on: CallMatcher, times?: number): void
  /** The next `times` fitting calls are applied, then the connection is reset instead of an answer. */
  dropResponse(on: CallMatcher, times?: number): void
  /** The next `times` fitting calls wait so long before they are applied. */
  delay(on: CallMatcher, ms: number, times?: number): void
  /** Fitting calls wait until the returned function is called. */
  hold(on: CallMatcher): () => void
  /** From the first fitting call on, all of them are answered "too many" until the window ends. */
  limit(options: RateWindowOptions): RateWindow
  /** Calls that came earlier than a window had told, over all windows. */
  earlyCalls(): number
  /** How many fitting calls came, those that met a fault too. */
  calls(on?: CallMatcher): number
  /** Told of every call as it comes. */
  onCall(listener: (call: FaultedCall) => void): void
  /** The vendor goes away for every connection there is and will be, web sockets too. */
  startOutage(how: OutageKind): void
  /** Ends it, at the same port. Connections that were silent are reset. */
  endOutage(): Promise<void>
  /**
   * The connections there are fall silent for good, those made later work: half-open, as after a change of the network.
   * Whoever holds one must notice by itself. The returned function resets them, as the vendor's end does one day.
   */
  freezeConnections(): () => void
  /** Forgets every fault that has not happened yet; windows that are open end. */
  clear(): void

  /** For the server: whose connections go away and come back. Before it listens. */
  watch(server: Server): void
  /** For the server, once for each call, before it is applied. */
  intercept(call: FaultedCall, response: ServerResponse): Promise<'pass' | 'lose-answer' | 'answered'>
  /** For the server: resets the connection of an exchange. */
  cut(response: ServerResponse): void
  /** For the server's own end: closes it, and every connection with it. */
  close(): Promise<void>
}

type FaultAction =
  | { readonly kind: 'answer'; readonly answer: FaultResponse }
  | { readonly kind: 'reset' }
  | { readonly kind: 'lose-answer' }
  | { readonly kind: 'wait'; readonly until: () => Promise<unknown> }

interface PlannedFault {
  readonly on: CallMatcher
  readonly action: FaultAction
  left: number
}

export function createFaults(options: FaultOptions = {}): Faults {
  const { tooMany = defaultTooMany, unitMs = 1, now = () => performance.now() } = options
  const watched = new Map<Server, { readonly sockets: Set<Socket>; port: number }>()
  const seen: FaultedCall[] = []
  const listeners: ((call: FaultedCall) => void)[] = []
  let plans: PlannedFault[] = []
  let windows: { readonly options: RateWindowOptions; readonly window: ReturnType<typeof createRateWindow> }[] = []
  const early: (() => number)[] = []
  let absence: OutageKind | undefined
  let returned = Promise.withResolvers<void>()

  const plan = (on: CallMatcher, action: FaultAction, times = 1) => {
    const planned = { on, action, left: times }
    plans.push(planned)
    return planned
  }
  const cut = (response: ServerResponse) => void response.socket?.resetAndDestroy()

  return {
    respond: (on, answer, times) => void plan(on, { kind: 'answer', answer }, times),
    reset: (on, times) => void plan(on, { kind: 'reset' }, times),
    dropResponse: (on, times) => void plan(on, { kind: 'lose-answer' }, times),
    delay: (on, ms, times) => void plan(on, { kind: 'wait', until: () => delay(ms, undefined, { ref: false }) }, times),
    hold(on) {
      const held = Promise.withResolvers<void>()
      const planned = plan(on, { kind: 'wait', until: () => held.promise }, Number.POSITIVE_INFINITY)
      return () => {
        planned.left = 0
        held.resolve()
      }
    },
    limit(limit) {
      const window = createRateWindow(limit, unitMs, now)
      windows.push({ options: limit, window })
      early.push(window.earlyCalls)
      return window
    },
    earlyCalls: () => early.reduce((sum, count) => sum + count(), 0),
    calls: (on) => seen.filter((call) => matchesCall(on, call)).length,
    onCall: (listener) => void listeners.push(listener),
    startOutage(how) {
      absence = how
      for (const [server, { sockets }] of watched) {
        if (how === 'refuse') server.close()
        for (const socket of sockets) apply(how, socket)
      }
    },
    async endOutage() {
      const was = absence
      absence = undefined
      returned.resolve()
      returned = Promise.withResolvers()
      for (const [server, { sockets, port }] of watched) {
        for (const socket of sockets) socket.resetAndDestroy()
        if (was === 'refuse') await listen(server, port)
      }
    },
    freezeConnections() {
      const stranded = [...watched.values()].flatMap(({ sockets }) => [...sockets])
      for (const socket of stranded) apply('silent', socket)
      return () => {
        for (const socket of stranded) socket.resetAndDestroy()
      }
    },
    clear() {
      plans = []
      windows = []
    },
    watch(server) {
      const entry = { sockets: new Set<Socket>(), port: 0 }
      watched.set(server, entry)
      server.on('listening', () => {
        const address = server.address()
        if (typeof address === 'object' && address !== null) entry.port = address.port
      })
      server.on('connection', (socket) => {
        entry.sockets.add(socket)
        socket.once('close', () => entry.sockets.delete(socket))
        // A reset in the middle of an exchange is what these servers are for.
        socket.on('error', () => undefined)
        if (absence !== undefined) apply(absence, socket)
      })
    },
    async intercept(call, response) {
      if (isSilent(response)) {
        // It never arrived; the handler is kept until the connection ends.
        if (!response.closed) await new Promise((resolve) => response.once('close', resolve))
        return 'answered'
      }
      seen.push(call)
      for (const tell of listeners) tell(call)
      if (absence !== undefined) {
        await returned.promise
        return 'answered'
      }
      const concerned = windows.filter(({ options: limit }) => matchesWindow(limit, call))
      const open = concerned.find(({ window }) => !window.isOver())
      // Those that are over, too: that is how the first call in time is known.
      for (const one of concerned) if (one !== open) one.window.passed()
      if (open === undefined) return deedFor(call, response)
      write(response, tooMany(open.window.refuse(), open.options))
      return 'answered'
    },
    cut,
    async close() {
      absence = undefined
      returned.resolve()
      for (const [server, { sockets }] of watched) {
        const closed = server.listening ? new Promise((resolve) => server.close(resolve)) : undefined
        for (const socket of sockets) socket.destroy()
        await closed
      }
    },
  }

  async function deedFor(call: FaultedCall, response: ServerResponse): Promise<'pass' | 'lose-answer' | 'answered'> {
    const planned = plans.find(({ on, left }) => left > 0 && matchesCall(on, call))
    if (planned === undefined) return 'pass'
    planned.left -= 1
    const { action } = planned
    switch (action.kind) {
      case 'answer':
        write(response, action.answer)
        return 'answered'
      case 'reset':
        cut(response)
        return 'answered'
      case 'lose-answer':
        return 'lose-answer'
      case 'wait':
        await action.until()
        return response.socket === null || response.socket.destroyed ? 'answered' : 'pass'
    }
  }
}

function apply(absence: OutageKind, socket: Socket): void {
  if (absence !== 'silent') return void socket.resetAndDestroy()
  // What is written goes nowhere, what arrives is not read: the peer sees a connection that says nothing. (The end of a
  // response would undo a cork, and HTTP reads past a pause: for that there is `isSilent`.)
  socket.write = ignoreData
  socket.pause()
}

function ignoreData(): boolean {
  return true
}

function isSilent({ socket }: ServerResponse): boolean {
  return socket?.write === ignoreData
}

function matchesWindow({ on, chat }: RateWindowOptions, call: FaultedCall): boolean {
  return matchesCall(on, call) && (chat === undefined || chat === call.chat)
}

function matchesCall(on: CallMatcher | undefined, call: FaultedCall): boolean {
  if (on === undefined) return true
  if (typeof on === 'string') return on === call.method
  return typeof on === 'function' ? on(call) : on.test(call.method)
}

function write(response: ServerResponse, { status, headers = {}, body = '' }: FaultResponse): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(text)
}

function defaultTooMany(waitMs: number): FaultResponse {
  return { status: 429, headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) }, body: 'too many calls' }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}
