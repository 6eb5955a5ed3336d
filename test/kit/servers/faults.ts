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
import { createWindow, type RateWindow, type RateWindowOptions } from './rate-window.ts'

/** One call of the client, as its server understands it. */
export interface FaultedCall {
  /** The vendor's word: `sendMessage`, `POST /channels/:id/messages`. */
  readonly method: string
  /** The chat it acts on, where it does. */
  readonly chat?: string
}

/** Which calls: those of this method, those whose method fits, those that fit. Without it every call. */
export type Calls = string | RegExp | ((call: FaultedCall) => boolean)

export interface FaultAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text as it is, anything else as JSON. */
  readonly body?: unknown
}

export interface FaultOptions {
  /** How the vendor says "too many", so many milliseconds before the window ends. */
  readonly tooMany?: (waitMs: number, window: RateWindowOptions) => FaultAnswer
  /** The smallest wait the vendor can name, ms: 1,000 where it counts in seconds. Windows end at a whole one. */
  readonly unitMs?: number
  /** ms; by default a clock that only goes forward. */
  readonly now?: () => number
}

/** `refuse`: nobody listens. `cut`: connections are taken and reset. `silent`: they are taken and never answered (half-open). */
export type Absence = 'refuse' | 'cut' | 'silent'

export interface Faults {
  /** The next `times` (1) fitting calls are answered with this and not applied. */
  answer(on: Calls, answer: FaultAnswer, times?: number): void
  /** The connection of the next `times` fitting calls is reset before they are applied. */
  reset(on: Calls, times?: number): void
  /** The next `times` fitting calls are applied, then the connection is reset instead of an answer. */
  loseAnswer(on: Calls, times?: number): void
  /** The next `times` fitting calls wait so long before they are applied. */
  delay(on: Calls, ms: number, times?: number): void
  /** Fitting calls wait until the returned function is called. */
  hold(on: Calls): () => void
  /** From the first fitting call on, all of them are answered "too many" until the window ends. */
  limit(options: RateWindowOptions): RateWindow
  /** Calls that came earlier than a window had told, over all windows. */
  earlyCalls(): number
  /** How many fitting calls came, those that met a fault too. */
  calls(on?: Calls): number
  /** Told of every call as it comes. */
  onCall(listener: (call: FaultedCall) => void): void
  /** The vendor goes away for every connection there is and will be, web sockets too. */
  goAway(how: Absence): void
  /** Ends it, at the same port. Connections that were silent are reset. */
  comeBack(): Promise<void>
  /**
   * The connections there are fall silent for good, those made later work: half-open, as after a change of the network.
   * Whoever holds one must notice by itself. The returned function resets them, as the vendor's end does one day.
   */
  strand(): () => void
  /** Forgets every fault that has not happened yet; windows that are open end. */
  clear(): void

  /** For the server: whose connections go away and come back. Before it listens. */
  watch(server: Server): void
  /** For the server, once for each call, before it is applied. */
  meet(call: FaultedCall, response: ServerResponse): Promise<'pass' | 'lose-answer' | 'answered'>
  /** For the server: resets the connection of an exchange. */
  cut(response: ServerResponse): void
  /** For the server's own end: closes it, and every connection with it. */
  end(): Promise<void>
}

type Deed =
  | { readonly kind: 'answer'; readonly answer: FaultAnswer }
  | { readonly kind: 'reset' }
  | { readonly kind: 'lose-answer' }
  | { readonly kind: 'wait'; readonly until: () => Promise<unknown> }

interface Planned {
  readonly on: Calls
  readonly deed: Deed
  left: number
}

export function createFaults(options: FaultOptions = {}): Faults {
  const { tooMany = plainTooMany, unitMs = 1, now = () => performance.now() } = options
  const watched = new Map<Server, { readonly sockets: Set<Socket>; port: number }>()
  const seen: FaultedCall[] = []
  const listeners: ((call: FaultedCall) => void)[] = []
  let plans: Planned[] = []
  let windows: { readonly options: RateWindowOptions; readonly window: ReturnType<typeof createWindow> }[] = []
  const early: (() => number)[] = []
  let absence: Absence | undefined
  let returned = Promise.withResolvers<void>()

  const plan = (on: Calls, deed: Deed, times = 1) => {
    const planned = { on, deed, left: times }
    plans.push(planned)
    return planned
  }
  const cut = (response: ServerResponse) => void response.socket?.resetAndDestroy()

  return {
    answer: (on, answer, times) => void plan(on, { kind: 'answer', answer }, times),
    reset: (on, times) => void plan(on, { kind: 'reset' }, times),
    loseAnswer: (on, times) => void plan(on, { kind: 'lose-answer' }, times),
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
      const window = createWindow(limit, unitMs, now)
      windows.push({ options: limit, window })
      early.push(window.earlyCalls)
      return window
    },
    earlyCalls: () => early.reduce((sum, count) => sum + count(), 0),
    calls: (on) => seen.filter((call) => fits(on, call)).length,
    onCall: (listener) => void listeners.push(listener),
    goAway(how) {
      absence = how
      for (const [server, { sockets }] of watched) {
        if (how === 'refuse') server.close()
        for (const socket of sockets) apply(how, socket)
      }
    },
    async comeBack() {
      const was = absence
      absence = undefined
      returned.resolve()
      returned = Promise.withResolvers()
      for (const [server, { sockets, port }] of watched) {
        for (const socket of sockets) socket.resetAndDestroy()
        if (was === 'refuse') await listen(server, port)
      }
    },
    strand() {
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
    async meet(call, response) {
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
      const concerned = windows.filter(({ options: limit }) => concerns(limit, call))
      const open = concerned.find(({ window }) => !window.isOver())
      // Those that are over, too: that is how the first call in time is known.
      for (const one of concerned) if (one !== open) one.window.passed()
      if (open === undefined) return deedFor(call, response)
      write(response, tooMany(open.window.refuse(), open.options))
      return 'answered'
    },
    cut,
    async end() {
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
    const planned = plans.find(({ on, left }) => left > 0 && fits(on, call))
    if (planned === undefined) return 'pass'
    planned.left -= 1
    const { deed } = planned
    switch (deed.kind) {
      case 'answer':
        write(response, deed.answer)
        return 'answered'
      case 'reset':
        cut(response)
        return 'answered'
      case 'lose-answer':
        return 'lose-answer'
      case 'wait':
        await deed.until()
        return response.socket === null || response.socket.destroyed ? 'answered' : 'pass'
    }
  }
}

function apply(absence: Absence, socket: Socket): void {
  if (absence !== 'silent') return void socket.resetAndDestroy()
  // What is written goes nowhere, what arrives is not read: the peer sees a connection that says nothing. (The end of a
  // response would undo a cork, and HTTP reads past a pause: for that there is `isSilent`.)
  socket.write = swallow
  socket.pause()
}

function swallow(): boolean {
  return true
}

function isSilent({ socket }: ServerResponse): boolean {
  return socket?.write === swallow
}

function concerns({ on, chat }: RateWindowOptions, call: FaultedCall): boolean {
  return fits(on, call) && (chat === undefined || chat === call.chat)
}

function fits(on: Calls | undefined, call: FaultedCall): boolean {
  if (on === undefined) return true
  if (typeof on === 'string') return on === call.method
  return typeof on === 'function' ? on(call) : on.test(call.method)
}

function write(response: ServerResponse, { status, headers = {}, body = '' }: FaultAnswer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(text)
}

function plainTooMany(waitMs: number): FaultAnswer {
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
