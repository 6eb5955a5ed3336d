/**
 * Fault injection for local servers of vendors. The server asks before it applies a call: continue, lose the response, or
 * the fault has responded.
 *
 *     const action = await faults.intercept({ method: 'sendMessage', chat }, response)
 *     if (action === 'answered') return
 *     const result = apply(body)
 *     if (action === 'lose-answer') return faults.cut(response)
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { createRateWindow, type RateWindow, type RateWindowOptions } from './rate-window.ts'

/** One call of the client. */
export interface FaultedCall {
  /** The vendor's name: `sendMessage`, `POST /channels/:id/messages`. */
  readonly method: string
  /** The chat that the call acts on. */
  readonly chat?: string | undefined
}

/** Selects calls by method, by a pattern of the method or by a predicate. Default: all calls. */
export type CallMatcher = string | RegExp | ((call: FaultedCall) => boolean)

export interface FaultResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Strings are sent unchanged, other values as JSON. */
  readonly body?: unknown
}

export interface FaultOptions {
  /** The vendor's rate limit response; `waitMs` is the time until the window ends. */
  readonly tooMany?: (waitMs: number, window: RateWindowOptions) => FaultResponse
  /** Resolution of wait times, ms; 1,000 if the vendor uses seconds. Windows are rounded up to it. */
  readonly unitMs?: number
  /** ms. Default: a monotonic clock. */
  readonly now?: () => number
}

/** `refuse`: the port is closed. `cut`: connections are reset. `silent`: connections are half-open and get no response. */
export type OutageKind = 'refuse' | 'cut' | 'silent'

export interface Faults {
  /** Answers the next `times` (1) matching calls with this response without applying them. */
  respond(on: CallMatcher, answer: FaultResponse, times?: number): void
  /** Resets the connection of the next `times` matching calls before they are applied. */
  reset(on: CallMatcher, times?: number): void
  /** Applies the next `times` matching calls and resets the connection instead of responding. */
  dropResponse(on: CallMatcher, times?: number): void
  /** Delays the next `times` matching calls. */
  delay(on: CallMatcher, ms: number, times?: number): void
  /** Holds matching calls until the returned function is called. */
  hold(on: CallMatcher): () => void
  /** Rate limits matching calls from the first one until the window ends. */
  limit(options: RateWindowOptions): RateWindow
  /** Number of calls that ignored a wait time, over all windows. */
  earlyCalls(): number
  /** Number of matching calls, including those with a fault. */
  calls(on?: CallMatcher): number
  /** Calls the listener for each call. */
  onCall(listener: (call: FaultedCall) => void): void
  /** Starts an outage for all current and new connections, including WebSockets. */
  startOutage(how: OutageKind): void
  /** Ends the outage, on the same port. Silent connections are reset. */
  endOutage(): Promise<void>
  /**
   * Makes current connections half-open, as after a change of the network; new connections work. Clients must detect this
   * themselves. The returned function resets the connections.
   */
  freezeConnections(): () => void
  /** Removes all pending faults and ends open windows. */
  clear(): void

  /** For the server, before it listens: registers its connections for outages. */
  watch(server: Server): void
  /** For the server, once for each call, before it is applied. */
  intercept(call: FaultedCall, response: ServerResponse): Promise<'pass' | 'lose-answer' | 'answered'>
  /** For the server: resets the connection of an exchange. */
  cut(response: ServerResponse): void
  /** Closes the server and all connections. */
  close(): Promise<void>

  /** @deprecated Use `intercept`. Removed in 0.3.0. */
  meet: Faults['intercept']
  /** @deprecated Use `respond`. Removed in 0.3.0. */
  answer: Faults['respond']
  /** @deprecated Use `dropResponse`. Removed in 0.3.0. */
  loseAnswer: Faults['dropResponse']
  /** @deprecated Use `startOutage`. Removed in 0.3.0. */
  goAway: Faults['startOutage']
  /** @deprecated Use `close`. Removed in 0.3.0. */
  end: Faults['close']
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
  let outage: OutageKind | undefined
  let returned = Promise.withResolvers<void>()

  const plan = (on: CallMatcher, action: FaultAction, times = 1) => {
    const planned = { on, action, left: times }
    plans.push(planned)
    return planned
  }
  const cut = (response: ServerResponse) => void response.socket?.resetAndDestroy()

  const faults: Omit<Faults, 'meet' | 'answer' | 'loseAnswer' | 'goAway' | 'end'> = {
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
      outage = how
      for (const [server, { sockets }] of watched) {
        if (how === 'refuse') server.close()
        for (const socket of sockets) apply(how, socket)
      }
    },
    async endOutage() {
      const was = outage
      outage = undefined
      returned.resolve()
      returned = Promise.withResolvers()
      for (const [server, { sockets, port }] of watched) {
        for (const socket of sockets) socket.resetAndDestroy()
        if (was === 'refuse') await listen(server, port)
      }
    },
    freezeConnections() {
      const frozen = [...watched.values()].flatMap(({ sockets }) => [...sockets])
      for (const socket of frozen) apply('silent', socket)
      return () => {
        for (const socket of frozen) socket.resetAndDestroy()
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
        // Resets are intended.
        socket.on('error', () => undefined)
        if (outage !== undefined) apply(outage, socket)
      })
    },
    async intercept(call, response) {
      if (isSilent(response)) {
        // The call did not arrive. Keeps the handler pending until the connection ends.
        if (!response.closed) await new Promise((resolve) => response.once('close', resolve))
        return 'answered'
      }
      seen.push(call)
      for (const listener of listeners) listener(call)
      if (outage !== undefined) {
        await returned.promise
        return 'answered'
      }
      const matching = windows.filter(({ options: limit }) => matchesWindow(limit, call))
      const open = matching.find(({ window }) => !window.isOver())
      // The windows that are over are told as well, to record the first call after the wait time.
      for (const one of matching) if (one !== open) one.window.passed()
      if (open === undefined) return applyFault(call, response)
      write(response, tooMany(open.window.refuse(), open.options))
      return 'answered'
    },
    cut,
    async close() {
      outage = undefined
      returned.resolve()
      for (const [server, { sockets }] of watched) {
        const closed = server.listening ? new Promise((resolve) => server.close(resolve)) : undefined
        for (const socket of sockets) socket.destroy()
        await closed
      }
    },
  }
  const { intercept: meet, respond: answer, dropResponse: loseAnswer, startOutage: goAway, close: end } = faults
  return { ...faults, meet, answer, loseAnswer, goAway, end }

  async function applyFault(call: FaultedCall, response: ServerResponse): Promise<'pass' | 'lose-answer' | 'answered'> {
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

function apply(outage: OutageKind, socket: Socket): void {
  if (outage !== 'silent') return void socket.resetAndDestroy()
  // Discards writes and stops reading. A cork would end with the response, and HTTP reads despite a pause, which
  // `isSilent` handles.
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
