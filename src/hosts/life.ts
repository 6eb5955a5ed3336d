/**
 * One process of a host, from its start to its end: what is sent, what comes back, and who is told when it goes.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import { within } from '../lib/wait.ts'
import { type Ending, startChild } from './child.ts'
import type { HostCall, HostLimits, HostModule, HostOptions, HostResult, LoadedModule } from './contract.ts'
import { type Cause, failureAtEnd } from './endings.ts'
import { failureOf, type HostFailure } from './failure.ts'
import {
  type Answer,
  answerFrame,
  argumentsOf,
  callFrame,
  callResult,
  entryOf,
  loadFrame,
  loadResult,
  refusalFrame,
} from './frames.ts'
import { type CallInFlight, createFlights, type InFlight, type LoadInFlight } from './in-flight.ts'
import { hostCommands } from './languages.ts'
import { createOutput } from './output.ts'
import { createReferences } from './references.ts'
import { type FromHost, parseFrame, type ToHost } from './wire.ts'

export interface Life {
  /** Undefined when the process could not be started. */
  readonly pid: number | undefined
  /** Version of the runtime, once it has said hello. */
  runtime(): string | undefined
  /** Never rejects. */
  load(module: HostModule): Promise<HostResult<LoadedModule>>
  /** Never rejects. */
  call(module: HostModule, call: HostCall): Promise<HostResult<unknown>>
  inFlight(): number
  /** Lets what is in flight finish for `drainMs`, asks the process to end, kills it if it does not. */
  end(drainMs: number): Promise<void>
  /** Resolves when it is gone and everybody was told. `killed`: because of a handler. Never rejects. */
  readonly over: Promise<{ readonly killed: boolean }>
}

export interface LifeOptions extends HostOptions {
  readonly limits: HostLimits
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** A timer of more would be over at once. */
const maxTimerMs = 2 ** 31 - 1

export function beginLife(options: LifeOptions): Life {
  const { name, limits, log, pause } = options
  const flights = createFlights()
  const loads = new Map<string, Promise<HostResult<LoadedModule>>>()
  const gone = new AbortController()
  /** Settles with why it did not come. */
  const hello = Promise.withResolvers<HostFailure | undefined>()
  /** Modules are loaded one after the other: one that takes the process along is found out. */
  let lastLoad: Promise<unknown> = Promise.resolve()
  let cause: Cause | undefined
  let nextId = 1
  let runtime: string | undefined
  let refusal: string | undefined
  let lastCall: number | undefined

  const output = createOutput({ log, pause })
  const child = startChild({
    ...hostCommands[options.language]({ command: options.command, cacheFolder: options.cacheFolder, ...limits }),
    env: options.env,
    cwd: options.cwd,
    maxFrameBytes: limits.maxFrameBytes,
    output,
    onLine: (line) => read(line),
    onTooLong: (beginning) => garbled(`a line above ${limits.maxFrameBytes} bytes`, beginning),
  })
  const send = (frame: ToHost) => child.send(JSON.stringify(frame))
  const killFor = (why: Cause) => {
    cause ??= why
    child.kill()
  }
  const garbled = (what: string, sample: string) => {
    log.warn({ sample: sample.slice(0, 200) }, `the host broke the protocol: ${what}`)
    killFor({ kind: 'garbled', detail: `${what} came instead of an answer: ${sample.slice(0, 80)}` })
  }

  const read = (line: string) => {
    // What is still in the pipe of a process that was killed counts for nothing.
    if (cause !== undefined && cause.kind !== 'stopped') return
    const frame = parseFrame(line)
    if (frame === undefined) garbled('something that is no message', line)
    else handle(frame)
  }
  const handle = (frame: FromHost) => {
    switch (frame.t) {
      case 'hello':
        runtime = frame.runtime
        return hello.resolve(undefined)
      case 'refused':
        refusal = frame.reason
        return
      case 'bye':
        lastCall = frame.call
        return
      case 'log':
        return output.line(frame.level, { ...frame.fields, module: frame.module }, frame.message)
      case 'request':
        return void serve(frame)
      case 'where':
        return acknowledged(frame.id, frame.stack)
      default:
        return settle(frame)
    }
  }
  const acknowledged = (id: number, stack: string) => {
    const one = flights.get(id)
    if (one === undefined) return
    one.awake = true
    one.stack = stack
  }
  const settle = (frame: Answer) => {
    const one = flights.get(frame.id)
    if (one === undefined) return log.debug({ frame: frame.t }, 'the host answered what nobody waits for')
    const land = one.what === 'load' ? landing(one, loadResult(one, frame)) : landing(one, callResult(one, frame))
    if (land === undefined) return garbled('an answer to something else', JSON.stringify(frame))
    flights.remove(one)
    land()
  }

  const serve = async (frame: Extract<FromHost, { t: 'request' }>) => {
    const found = flights.get(frame.call)
    const one = found?.what === 'call' ? found : undefined
    try {
      if (one === undefined) throw new Error(`${frame.method}: the call it belongs to is over`)
      if (one.requests >= limits.maxRequests) throw new Error(`more than ${limits.maxRequests} requests at once`)
      one.requests += 1
      try {
        const value = await one.serve(frame.method, argumentsOf(frame, one))
        child.send(answerFrame(frame.id, value, one))
      } finally {
        one.requests -= 1
      }
    } catch (error) {
      send(refusalFrame(frame.id, error, one))
    }
  }

  /** Asks one to end. When it has not ended after a short grace, nothing helps but to end the process. */
  const cancel = async (one: InFlight, why: 'timeout' | 'aborted') => {
    if (one.over.signal.aborted || one.cancelled !== undefined) return
    one.cancelled = why
    send({ t: 'cancel', id: one.id })
    await pause(limits.graceMs, one.over.signal)
    if (one.over.signal.aborted) return
    log.warn({ module: one.module, stack: one.stack }, `${one.title} does not end; the host is killed`)
    killFor({ kind: 'cut-off', by: one })
  }
  const cancelAfter = async (one: InFlight, ms: number) => {
    await pause(Math.min(ms, maxTimerMs), one.over.signal)
    await cancel(one, 'timeout')
  }

  const started = startWithin(hello.promise, options, gone.signal, () =>
    killFor({ kind: 'exit', how: `said nothing for ${limits.startMs} ms`, call: undefined }),
  )

  const over = child.ended.then((ending) => {
    output.end()
    gone.abort()
    const found: Cause = cause ?? { kind: 'exit', how: howItEnded(ending), call: lastCall }
    cause = found
    const how = found.kind === 'exit' ? found.how : howItEnded(ending)
    const why = refusal ?? ending.error?.message ?? [how, output.lastWords()].filter(Boolean).join(': ')
    hello.resolve(
      found.kind === 'stopped'
        ? stopped(name)
        : failureOf('unavailable', `${name}: ${why}`, { begun: false, cause: ending.error }),
    )
    const left = flights.all()
    for (const one of left) {
      flights.remove(one)
      one.fail(failureAtEnd(one, found, left.length === 1))
    }
    return { killed: found.kind === 'cut-off' || found.kind === 'garbled' }
  })

  const notBegun = (title: string): HostFailure =>
    cause?.kind === 'stopped'
      ? stopped(name)
      : failureOf('died', `${title} had not begun when its process ended.`, { fault: 'other', begun: false })

  const load = async (module: HostModule, before: Promise<unknown>): Promise<HostResult<LoadedModule>> => {
    const failed = await started
    if (failed !== undefined) return { ok: false, failure: failed }
    await before
    if (cause !== undefined) return { ok: false, failure: notBegun(module.name) }
    return new Promise((settleLoad) => {
      const one: LoadInFlight = {
        what: 'load',
        id: nextId++,
        title: module.name,
        module: module.name,
        over: new AbortController(),
        settle: settleLoad,
        fail: (failure) => settleLoad({ ok: false, failure }),
      }
      flights.add(one)
      send(loadFrame(one.id, module))
      void cancelAfter(one, limits.loadMs)
    })
  }
  const loadOnce = (module: HostModule) => {
    const known = loads.get(module.name)
    if (known !== undefined) return known
    const loading = load(module, lastLoad)
    lastLoad = loading
    loads.set(module.name, loading)
    return loading
  }

  return {
    pid: child.pid,
    runtime: () => runtime,
    inFlight: flights.size,
    over,
    load: loadOnce,

    async call(module, call) {
      const loaded = await loadOnce(module)
      if (!loaded.ok) return loaded
      const { signal, deadlineMs } = call
      const fn = call.function ?? entryOf(module)
      const title = fn === entryOf(module) ? module.name : `${module.name}.${fn}`
      if (cause !== undefined) return { ok: false, failure: notBegun(title) }
      if (signal?.aborted === true) {
        return { ok: false, failure: failureOf('aborted', `${title} had not begun.`, { fault: 'other', begun: false }) }
      }
      return new Promise((settleCall) => {
        const one: CallInFlight = {
          what: 'call',
          id: nextId++,
          title,
          module: module.name,
          over: new AbortController(),
          settle: settleCall,
          fail: (failure) => settleCall({ ok: false, failure }),
          references: call.byReference === true ? createReferences() : undefined,
          serve: (method, args) => serveCall({ module: module.name, method, args, signal: one.over.signal }),
          requests: 0,
        }
        const serveCall = inContextOfNow(call.onRequest ?? options.onRequest)
        const line = jsonOf(callFrame(one, fn, call))
        if (typeof line !== 'string') {
          const detail = `${title} was not called: its arguments are no JSON (${messageOf(line.error)}).`
          return one.fail(failureOf('unserialisable', detail, { fault: 'other', begun: false, cause: line.error }))
        }
        flights.add(one)
        child.send(line)
        if (deadlineMs !== undefined) void cancelAfter(one, deadlineMs)
        signal?.addEventListener('abort', () => void cancel(one, 'aborted'), { once: true, signal: one.over.signal })
      })
    },

    async end(drainMs) {
      if (drainMs > 0) await within(flights.none(), drainMs, gone.signal)
      cause ??= { kind: 'stopped' }
      child.close()
      const ended = await within(over, limits.exitMs)
      if (!ended.done) child.kill()
      await over
    },
  }
}

/** Waits for the first word of a process; settles with why it did not come. */
async function startWithin(
  hello: Promise<HostFailure | undefined>,
  { limits }: LifeOptions,
  gone: AbortSignal,
  tooLate: () => void,
): Promise<HostFailure | undefined> {
  const first = await within(hello, limits.startMs, gone)
  if (!first.done && !gone.aborted) tooLate()
  return hello
}

function howItEnded({ code, signal }: Ending): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
}

export function stopped(host: string): HostFailure {
  return failureOf('stopped', `${host}.`, { fault: 'other', begun: false })
}

/** What to do when an answer has come; undefined where it is none. */
function landing<Result>(one: { settle(result: Result): void }, result: Result | undefined): (() => void) | undefined {
  return result === undefined ? undefined : () => one.settle(result)
}

/** Serves later requests as if they were made here and now, so that they belong to the same turn and scope. */
function inContextOfNow(onRequest: HostOptions['onRequest']): NonNullable<HostOptions['onRequest']> {
  if (onRequest === undefined) return async ({ method }) => Promise.reject(new Error(`nobody serves ${method} here`))
  const reenter = AsyncLocalStorage.snapshot()
  // `async`: what is thrown at once is a refusal, too.
  return async (request) => reenter(onRequest, request)
}

function jsonOf(frame: ToHost): string | { readonly error: unknown } {
  try {
    return JSON.stringify(frame)
  } catch (error) {
    return { error }
  }
}
