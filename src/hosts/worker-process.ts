/**
 * One process of a host, from start to exit.
 */
import { withTimeout } from '../lib/timers.ts'
import type { HostCall, HostLimits, HostModule, HostOptions, HostResult, LoadedModule } from './contract.ts'
import type { ExitCause } from './exit-failures.ts'
import { createHostFailure, type HostFailure, hostStoppedFailure } from './failure.ts'
import { entryNameOf } from './frames.ts'
import { type ChildExit, type HostChild, startHostChild } from './host-child.ts'
import { hostCommands } from './host-commands.ts'
import { createHostOutput, type HostOutput } from './host-output.ts'
import type { PendingOperation } from './pending-calls.ts'
import { type FrameFromHost, parseFrame } from './protocol.ts'
import { callTitle, createRpcSession, type RpcSession } from './rpc-session.ts'

export interface WorkerProcess {
  /** `undefined` if the process could not be started. */
  readonly pid: number | undefined
  /** Version of the runtime, as soon as the process has reported it. */
  runtime(): string | undefined
  /** Never rejects. */
  load(module: HostModule): Promise<HostResult<LoadedModule>>
  /** Never rejects. */
  call(module: HostModule, call: HostCall): Promise<HostResult<unknown>>
  inFlight(): number
  /** Waits at most `drainMs` for operations in flight, asks the process to exit, and kills it if it does not. */
  stop(drainMs: number): Promise<void>
  /**
   * Resolves when the process has exited and all operations have failed. `killed`: the gateway killed it because of a
   * handler. Never rejects.
   */
  readonly exited: Promise<{ readonly killed: boolean }>
}

export type WorkerProcessOptions = Required<Omit<HostOptions, OptionalHostOption>> & {
  readonly [Option in OptionalHostOption]: HostOptions[Option]
} & { readonly limits: HostLimits }

type OptionalHostOption = 'command' | 'cacheFolder' | 'onRequest' | 'onBackgroundRequest' | 'onExit'

interface ProcessState {
  readonly options: WorkerProcessOptions
  readonly output: HostOutput
  readonly child: HostChild
  readonly session: RpcSession
  readonly loads: Map<string, Promise<HostResult<LoadedModule>>>
  readonly exitController: AbortController
  /** Resolves at the `ready` frame, or with the failure if the process exits before it. */
  readonly ready: PromiseWithResolvers<HostFailure | undefined>
  /** Modules are loaded one after another, so that a module that ends the process can be identified. */
  lastLoad: Promise<unknown>
  exitCause: ExitCause | undefined
  runtime: string | undefined
  startupError: string | undefined
  /** The call that ended the process, as reported by the process. */
  exitingCall: number | undefined
}

export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const state = createProcessState(options)
  const { child, session, exitController } = state
  const started = awaitReady(state)
  const exited = child.exited.then((exit) => handleExit(state, exit))
  return {
    pid: child.pid,
    runtime: () => state.runtime,
    inFlight: session.inFlight,
    exited,
    load: (module) => loadOnce(state, started, module),
    async call(module, call) {
      const loaded = await loadOnce(state, started, module)
      return loaded.ok ? callLoaded(state, module, call) : loaded
    },
    async stop(drainMs) {
      if (drainMs > 0) await withTimeout(session.whenIdle(), drainMs, exitController.signal)
      state.exitCause ??= { kind: 'stopped' }
      child.close()
      const { done } = await withTimeout(exited, options.limits.exitTimeoutMs)
      if (!done) child.kill()
      await exited
    },
  }
}

function createProcessState(options: WorkerProcessOptions): ProcessState {
  const { language, command, cacheFolder, env, cwd, limits, log, sleep } = options
  const output = createHostOutput({ log, sleep })
  const child = startHostChild({
    ...hostCommands[language]({
      command,
      cacheFolder,
      memoryMb: limits.memoryMb,
      maxFrameBytes: limits.maxFrameBytes,
    }),
    env,
    cwd,
    maxFrameBytes: limits.maxFrameBytes,
    output,
    onLine: (line) => readLine(state, line),
    onLineTooLong: (beginning) => failProtocol(state, `a line above ${limits.maxFrameBytes} bytes`, beginning),
    onPipeClosed: () => void killUnlessExited(state),
  })
  const session = createRpcSession({
    limits,
    log,
    sleep,
    onRequest: options.onRequest,
    onBackgroundRequest: options.onBackgroundRequest,
    send: child.send,
    bufferedBytes: child.bufferedBytes,
    onBackpressure: () => handleBackpressure(state),
    onUnresponsive: (operation) => handleUnresponsive(state, operation),
  })
  const state: ProcessState = {
    options,
    output,
    child,
    session,
    loads: new Map(),
    exitController: new AbortController(),
    ready: Promise.withResolvers(),
    lastLoad: Promise.resolve(),
    exitCause: undefined,
    runtime: undefined,
    startupError: undefined,
    exitingCall: undefined,
  }
  return state
}

function loadOnce(
  state: ProcessState,
  started: Promise<HostFailure | undefined>,
  module: HostModule,
): Promise<HostResult<LoadedModule>> {
  const known = state.loads.get(module.name)
  if (known !== undefined) return known
  const loading = loadAfter(state, started, state.lastLoad, module)
  state.lastLoad = loading
  state.loads.set(module.name, loading)
  return loading
}

async function loadAfter(
  state: ProcessState,
  started: Promise<HostFailure | undefined>,
  previousLoad: Promise<unknown>,
  module: HostModule,
): Promise<HostResult<LoadedModule>> {
  const failure = await started
  if (failure !== undefined) return { ok: false, failure }
  await previousLoad
  return state.exitCause === undefined
    ? state.session.load(module)
    : { ok: false, failure: notStartedFailure(state, module.name) }
}

async function callLoaded(state: ProcessState, module: HostModule, call: HostCall): Promise<HostResult<unknown>> {
  const title = callTitle(module, call.function ?? entryNameOf(module))
  if (state.exitCause !== undefined) return { ok: false, failure: notStartedFailure(state, title) }
  if (call.signal?.aborted !== true) return state.session.call(module, call)
  return {
    ok: false,
    failure: createHostFailure('aborted', `${title} was cancelled before it started.`, {
      attribution: 'other',
      started: false,
    }),
  }
}

function notStartedFailure({ exitCause, options }: ProcessState, title: string): HostFailure {
  if (exitCause?.kind === 'stopped') return hostStoppedFailure(options.name)
  return createHostFailure('died', `${title} had not started when its process exited.`, {
    attribution: 'other',
    started: false,
  })
}

async function awaitReady(state: ProcessState): Promise<HostFailure | undefined> {
  const { ready, exitController, options } = state
  const { startTimeoutMs } = options.limits
  const { done } = await withTimeout(ready.promise, startTimeoutMs, exitController.signal)
  if (!done && !exitController.signal.aborted)
    kill(state, { kind: 'exit', how: `was not ready after ${startTimeoutMs} ms`, call: undefined })
  return ready.promise
}

function readLine(state: ProcessState, line: string): void {
  // Frames that are left in the pipe of a killed process are ignored.
  if (state.exitCause !== undefined && state.exitCause.kind !== 'stopped') return
  const frame = parseFrame(line)
  if (frame === undefined) failProtocol(state, 'an invalid frame', line)
  else if (!handleFrame(state, frame)) failProtocol(state, 'an unexpected response', line)
}

/** Returns false if the frame violates the protocol. */
function handleFrame(state: ProcessState, frame: FrameFromHost): boolean {
  switch (frame.t) {
    case 'ready':
      state.runtime = frame.runtime
      state.ready.resolve(undefined)
      return true
    case 'startupError':
      state.startupError = frame.reason
      return true
    case 'exit':
      state.exitingCall = frame.call
      return true
    case 'log': {
      const module = moduleField(state, frame.module)
      const source = state.options.modules.some(({ name }) => name === frame.module) ? frame.module : undefined
      // Given twice: first, because excess fields are dropped, and last, because a handler must not replace it.
      state.output.logLine(frame.level, { ...module, ...frame.fields, ...module }, frame.message, source)
      return true
    }
    default:
      return state.session.receive(frame)
  }
}

/** Omitted for a host with one module, whose log names the module on every line. */
function moduleField({ options }: ProcessState, module: string | undefined): Readonly<Record<string, unknown>> {
  return options.modules.length === 1 ? {} : { module }
}

function kill(state: ProcessState, cause: ExitCause): void {
  state.exitCause ??= cause
  state.child.kill()
}

function failProtocol(state: ProcessState, received: string, sample: string): void {
  state.options.log.warn(
    { event: 'host.protocol_error', received, sample: sample.slice(0, 200) },
    'the host violated the protocol; killing it',
  )
  kill(state, { kind: 'protocolError', detail: `its process sent ${received}: ${sample.slice(0, 80)}` })
}

function handleBackpressure(state: ProcessState): void {
  state.options.log.warn({ event: 'host.killed', reason: 'backpressure' }, 'the host is killed')
  kill(state, { kind: 'protocolError', detail: 'its process ignored responses while it sent requests' })
}

function handleUnresponsive(state: ProcessState, operation: PendingOperation): void {
  const { module, title, stack } = operation
  state.options.log.warn(
    { event: 'host.killed', reason: 'unresponsive', ...moduleField(state, module), handler: title, stack },
    'the host is killed',
  )
  kill(state, { kind: 'unresponsive', by: operation })
}

/** An exiting process closes its pipes first. A process that keeps running has lost its pipes to a handler. */
async function killUnlessExited(state: ProcessState): Promise<void> {
  const { options, exitController } = state
  await options.sleep(options.limits.exitTimeoutMs, exitController.signal)
  if (exitController.signal.aborted) return
  options.log.warn({ event: 'host.killed', reason: 'pipe_closed' }, 'the host is killed')
  kill(state, { kind: 'protocolError', detail: 'its process closed a protocol pipe' })
}

function handleExit(state: ProcessState, exit: ChildExit): { readonly killed: boolean } {
  const { options, output, session, startupError } = state
  output.close()
  state.exitController.abort()
  const cause: ExitCause = state.exitCause ?? { kind: 'exit', how: describeExit(exit), call: state.exitingCall }
  state.exitCause = cause
  const how = cause.kind === 'exit' ? cause.how : describeExit(exit)
  const reason = startupError ?? exit.error?.message ?? [how, output.stderrTail()].filter(Boolean).join(': ')
  const unavailable = createHostFailure('unavailable', `${options.name}: ${reason}`, {
    started: false,
    cause: exit.error,
  })
  state.ready.resolve(cause.kind === 'stopped' ? hostStoppedFailure(options.name) : unavailable)
  options.onExit?.({ expected: cause.kind === 'stopped', reason })
  session.close(cause)
  return { killed: cause.kind === 'unresponsive' || cause.kind === 'protocolError' }
}

function describeExit({ code, signal }: ChildExit): string {
  return signal === null ? `exited with code ${code}` : `was terminated by ${signal}`
}
