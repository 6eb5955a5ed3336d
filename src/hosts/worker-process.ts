/**
 * One process of a host, from its start to its end.
 */
import { withTimeout } from '../lib/timers.ts'
import type { HostCall, HostLimits, HostModule, HostOptions, HostResult, LoadedModule } from './contract.ts'
import type { ExitCause } from './exit-failures.ts'
import { createHostFailure, type HostFailure, hostStoppedFailure } from './failure.ts'
import { entryNameOf } from './frames.ts'
import { type ChildExit, startHostChild } from './host-child.ts'
import { hostCommands } from './host-commands.ts'
import { createHostOutput } from './host-output.ts'
import { type FrameFromHost, parseFrame } from './protocol.ts'
import { callTitle, createRpcSession } from './rpc-session.ts'

export interface WorkerProcess {
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
  stop(drainMs: number): Promise<void>
  /** Resolves when it is gone and everybody was told. `killed`: because of a handler. Never rejects. */
  readonly exited: Promise<{ readonly killed: boolean }>
}

export interface WorkerProcessOptions extends HostOptions {
  readonly limits: HostLimits
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { name, limits, log, sleep } = options
  const loads = new Map<string, Promise<HostResult<LoadedModule>>>()
  const exitController = new AbortController()
  /** Settles with why it did not come. */
  const hello = Promise.withResolvers<HostFailure | undefined>()
  /** Modules are loaded one after the other: one that takes the process along is found out. */
  let lastLoad: Promise<unknown> = Promise.resolve()
  let exitCause: ExitCause | undefined
  let runtime: string | undefined
  let startupError: string | undefined
  let exitingCall: number | undefined

  /** The log of a host with one module names it anyway. */
  const moduleField = (module: string | undefined) => (options.modules.length === 1 ? {} : { module })
  const output = createHostOutput({ log, sleep })
  const child = startHostChild({
    ...hostCommands[options.language]({ command: options.command, cacheFolder: options.cacheFolder, ...limits }),
    env: options.env,
    cwd: options.cwd,
    maxFrameBytes: limits.maxFrameBytes,
    output,
    onLine: (line) => readLine(line),
    onLineTooLong: (beginning) => failProtocol(`a line above ${limits.maxFrameBytes} bytes`, beginning),
    onPipeClosed: () => void awaitExit(),
  })
  const killFor = (why: ExitCause) => {
    exitCause ??= why
    child.kill()
  }
  /** A process that ends closes its pipes first; one that goes on without them was deprived of them by a handler. */
  const awaitExit = async () => {
    await sleep(limits.exitTimeoutMs, exitController.signal)
    if (exitController.signal.aborted) return
    log.warn({ event: 'host.killed', reason: 'pipe_closed' }, 'the host closed its pipes and did not exit; killing it')
    killFor({ kind: 'protocolError', detail: 'it closed its pipe' })
  }
  const failProtocol = (what: string, sample: string) => {
    log.warn(
      { event: 'host.protocol_error', received: what, sample: sample.slice(0, 200) },
      'the host violated the protocol; killing it',
    )
    killFor({ kind: 'protocolError', detail: `${what} came instead of an answer: ${sample.slice(0, 80)}` })
  }

  const session = createRpcSession({
    ...options,
    send: child.send,
    bufferedBytes: child.bufferedBytes,
    onBackpressure() {
      log.warn(
        { event: 'host.killed', reason: 'backpressure' },
        'host ignores responses while sending requests; killing it',
      )
      killFor({ kind: 'protocolError', detail: 'it ignored responses while it sent requests' })
    },
    onUnresponsive(one) {
      log.warn(
        {
          event: 'host.killed',
          reason: 'unresponsive',
          ...moduleField(one.module),
          handler: one.title,
          stack: one.stack,
        },
        'a handler did not end when it was cancelled; killing its host',
      )
      killFor({ kind: 'unresponsive', by: one })
    },
  })
  const readLine = (line: string) => {
    // What is still in the pipe of a process that was killed counts for nothing.
    if (exitCause !== undefined && exitCause.kind !== 'stopped') return
    const frame = parseFrame(line)
    if (frame === undefined) failProtocol('something that is no message', line)
    else if (!handleFrame(frame)) failProtocol('an answer to something else', line)
  }
  /** False when it makes no sense. */
  const handleFrame = (frame: FrameFromHost): boolean => {
    switch (frame.t) {
      case 'ready':
        runtime = frame.runtime
        hello.resolve(undefined)
        return true
      case 'startupError':
        startupError = frame.reason
        return true
      case 'exit':
        exitingCall = frame.call
        return true
      case 'log':
        // First, because there may be too many fields.
        output.logLine(
          frame.level,
          { ...moduleField(frame.module), ...frame.fields, ...moduleField(frame.module) },
          frame.message,
        )
        return true
      default:
        return session.receive(frame)
    }
  }

  const awaitHello = async () => {
    const first = await withTimeout(hello.promise, limits.startTimeoutMs, exitController.signal)
    if (!first.done && !exitController.signal.aborted) {
      killFor({ kind: 'exit', how: `said nothing for ${limits.startTimeoutMs} ms`, call: undefined })
    }
    return hello.promise
  }
  const started = awaitHello()

  const exited = child.exited.then((exit) => {
    output.close()
    exitController.abort()
    const found: ExitCause = exitCause ?? { kind: 'exit', how: describeExit(exit), call: exitingCall }
    exitCause = found
    const how = found.kind === 'exit' ? found.how : describeExit(exit)
    const reason = startupError ?? exit.error?.message ?? [how, output.stderrTail()].filter(Boolean).join(': ')
    const unavailable = createHostFailure('unavailable', `${name}: ${reason}`, { started: false, cause: exit.error })
    hello.resolve(found.kind === 'stopped' ? hostStoppedFailure(name) : unavailable)
    options.onExit?.({ expected: found.kind === 'stopped', reason })
    session.close(found)
    return { killed: found.kind === 'unresponsive' || found.kind === 'protocolError' }
  })

  const notStartedFailure = (title: string): HostFailure =>
    exitCause?.kind === 'stopped'
      ? hostStoppedFailure(name)
      : createHostFailure('died', `${title} had not begun when its process ended.`, {
          attribution: 'other',
          started: false,
        })

  const load = async (module: HostModule, before: Promise<unknown>): Promise<HostResult<LoadedModule>> => {
    const failed = await started
    if (failed !== undefined) return { ok: false, failure: failed }
    await before
    return exitCause === undefined ? session.load(module) : { ok: false, failure: notStartedFailure(module.name) }
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
    inFlight: session.inFlight,
    exited,
    load: loadOnce,

    async call(module, call) {
      const loaded = await loadOnce(module)
      if (!loaded.ok) return loaded
      const title = callTitle(module, call.function ?? entryNameOf(module))
      if (exitCause !== undefined) return { ok: false, failure: notStartedFailure(title) }
      if (call.signal?.aborted !== true) return session.call(module, call)
      return {
        ok: false,
        failure: createHostFailure('aborted', `${title} had not begun.`, { attribution: 'other', started: false }),
      }
    },

    async stop(drainMs) {
      if (drainMs > 0) await withTimeout(session.whenIdle(), drainMs, exitController.signal)
      exitCause ??= { kind: 'stopped' }
      child.close()
      const ended = await withTimeout(exited, limits.exitTimeoutMs)
      if (!ended.done) child.kill()
      await exited
    },
  }
}

function describeExit({ code, signal }: ChildExit): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
}
