/**
 * One process of a host, from its start to its end.
 */
import { within } from '../lib/wait.ts'
import { type Ending, startChild } from './child.ts'
import type { HostCall, HostLimits, HostModule, HostOptions, HostResult, LoadedModule } from './contract.ts'
import { createConversation, titleOf } from './conversation.ts'
import type { Cause } from './endings.ts'
import { failureOf, type HostFailure, stopped } from './failure.ts'
import { entryOf } from './frames.ts'
import { hostCommands } from './languages.ts'
import { createOutput } from './output.ts'
import { type FromHost, parseFrame } from './wire.ts'

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

export function beginLife(options: LifeOptions): Life {
  const { name, limits, log, pause } = options
  const loads = new Map<string, Promise<HostResult<LoadedModule>>>()
  const gone = new AbortController()
  /** Settles with why it did not come. */
  const hello = Promise.withResolvers<HostFailure | undefined>()
  /** Modules are loaded one after the other: one that takes the process along is found out. */
  let lastLoad: Promise<unknown> = Promise.resolve()
  let cause: Cause | undefined
  let runtime: string | undefined
  let refusal: string | undefined
  let lastCall: number | undefined

  /** The log of a host with one module names it anyway. */
  const nameIn = (module: string | undefined) => (options.modules.length === 1 ? {} : { module })
  const output = createOutput({ log, pause })
  const child = startChild({
    ...hostCommands[options.language]({ command: options.command, cacheFolder: options.cacheFolder, ...limits }),
    env: options.env,
    cwd: options.cwd,
    maxFrameBytes: limits.maxFrameBytes,
    output,
    onLine: (line) => read(line),
    onTooLong: (beginning) => garbled(`a line above ${limits.maxFrameBytes} bytes`, beginning),
    onBroken: () => void awaitEnd(),
  })
  const killFor = (why: Cause) => {
    cause ??= why
    child.kill()
  }
  /** A process that ends closes its pipes first; one that goes on without them was deprived of them by a handler. */
  const awaitEnd = async () => {
    await pause(limits.exitMs, gone.signal)
    if (gone.signal.aborted) return
    log.warn({}, 'the host lives on without its pipes; it is killed')
    killFor({ kind: 'garbled', detail: 'it closed that pipe' })
  }
  const garbled = (what: string, sample: string) => {
    log.warn({ sample: sample.slice(0, 200) }, `the host broke the protocol: ${what}`)
    killFor({ kind: 'garbled', detail: `${what} came instead of an answer: ${sample.slice(0, 80)}` })
  }

  const conversation = createConversation({
    ...options,
    send: child.send,
    unread: child.unread,
    onDeaf() {
      log.warn({}, 'the host asks on and on and reads no answer; it is killed')
      killFor({ kind: 'garbled', detail: 'it asked on and on and read no answer' })
    },
    onStuck(one) {
      log.warn({ ...nameIn(one.module), stack: one.stack }, `${one.title} does not end; the host is killed`)
      killFor({ kind: 'cut-off', by: one })
    },
  })
  const read = (line: string) => {
    // What is still in the pipe of a process that was killed counts for nothing.
    if (cause !== undefined && cause.kind !== 'stopped') return
    const frame = parseFrame(line)
    if (frame === undefined) garbled('something that is no message', line)
    else if (!hear(frame)) garbled('an answer to something else', line)
  }
  /** False when it makes no sense. */
  const hear = (frame: FromHost): boolean => {
    switch (frame.t) {
      case 'hello':
        runtime = frame.runtime
        hello.resolve(undefined)
        return true
      case 'refused':
        refusal = frame.reason
        return true
      case 'bye':
        lastCall = frame.call
        return true
      case 'log':
        // First, because there may be too many fields.
        output.line(frame.level, { ...nameIn(frame.module), ...frame.fields, ...nameIn(frame.module) }, frame.message)
        return true
      default:
        return conversation.hear(frame)
    }
  }

  const awaitHello = async () => {
    const first = await within(hello.promise, limits.startMs, gone.signal)
    if (!first.done && !gone.signal.aborted) {
      killFor({ kind: 'exit', how: `said nothing for ${limits.startMs} ms`, call: undefined })
    }
    return hello.promise
  }
  const started = awaitHello()

  const over = child.ended.then((ending) => {
    output.end()
    gone.abort()
    const found: Cause = cause ?? { kind: 'exit', how: howItEnded(ending), call: lastCall }
    cause = found
    const how = found.kind === 'exit' ? found.how : howItEnded(ending)
    const why = refusal ?? ending.error?.message ?? [how, output.lastWords()].filter(Boolean).join(': ')
    const unavailable = failureOf('unavailable', `${name}: ${why}`, { begun: false, cause: ending.error })
    hello.resolve(found.kind === 'stopped' ? stopped(name) : unavailable)
    options.onEnd?.({ expected: found.kind === 'stopped', how: why })
    conversation.end(found)
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
    return cause === undefined ? conversation.load(module) : { ok: false, failure: notBegun(module.name) }
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
    inFlight: conversation.inFlight,
    over,
    load: loadOnce,

    async call(module, call) {
      const loaded = await loadOnce(module)
      if (!loaded.ok) return loaded
      const title = titleOf(module, call.function ?? entryOf(module))
      if (cause !== undefined) return { ok: false, failure: notBegun(title) }
      if (call.signal?.aborted !== true) return conversation.call(module, call)
      return { ok: false, failure: failureOf('aborted', `${title} had not begun.`, { fault: 'other', begun: false }) }
    },

    async end(drainMs) {
      if (drainMs > 0) await within(conversation.settled(), drainMs, gone.signal)
      cause ??= { kind: 'stopped' }
      child.close()
      const ended = await within(over, limits.exitMs)
      if (!ended.done) child.kill()
      await over
    },
  }
}

function howItEnded({ code, signal }: Ending): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
}
