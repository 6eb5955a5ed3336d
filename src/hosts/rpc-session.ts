/**
 * The requests to a running host: sends loads and calls, matches responses to them, serves the requests of handlers and
 * cancels what takes too long.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { onAbort } from '../lib/timers.ts'
import type { HostCall, HostLimits, HostModule, HostRequestHandler, HostResult, LoadedModule } from './contract.ts'
import { type ExitCause, failureAtExit } from './exit-failures.ts'
import { createHostFailure } from './failure.ts'
import {
  callFrame,
  cancelFrame,
  entryNameOf,
  errorFrame,
  type HostResponse,
  loadFrame,
  resolveArguments,
  resultFrame,
  toCallResult,
  toLoadResult,
} from './frames.ts'
import {
  createPendingCalls,
  type PendingCall,
  type PendingCalls,
  type PendingLoad,
  type PendingOperation,
} from './pending-calls.ts'
import type { FrameFromHost } from './protocol.ts'
import { createObjectReferences } from './references.ts'

export type SessionFrame = Extract<FrameFromHost, { id: number }>
type RequestFrame = Extract<FrameFromHost, { t: 'request' }>

export interface RpcSessionDeps {
  readonly limits: HostLimits
  readonly log: Logger
  readonly onRequest: HostRequestHandler | undefined
  readonly onBackgroundRequest: HostRequestHandler | undefined
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  send(line: string): void
  /** Bytes that were sent and that the host has not read yet. */
  bufferedBytes(): number
  /** The host sends requests without reading the responses. The process must be killed. */
  onBackpressure(): void
  /** An operation did not end after it was cancelled. The process must be killed. */
  onUnresponsive(operation: PendingOperation): void
}

export interface RpcSession {
  /** Never rejects. */
  load(module: HostModule): Promise<HostResult<LoadedModule>>
  /** Never rejects. */
  call(module: HostModule, call: HostCall): Promise<HostResult<unknown>>
  /** Handles a frame of the host. Returns false if the frame violates the protocol. */
  receive(frame: SessionFrame): boolean
  inFlight(): number
  /** Resolves when no operation is in flight. */
  whenIdle(): Promise<void>
  /** Fails every operation in flight, because the process has exited. */
  close(cause: ExitCause): void
}

interface SessionState {
  readonly deps: RpcSessionDeps
  readonly pending: PendingCalls
  /** Requests of modules outside of calls. */
  readonly background: { requests: number; readonly controller: AbortController }
  nextId: number
  /** Bytes of responses that were sent since the host had last read everything. */
  unreadResponseBytes: number
}

/** The longest delay that a Node timer supports. A longer one would fire immediately. */
const maxTimerMs = 2 ** 31 - 1

export function createRpcSession(deps: RpcSessionDeps): RpcSession {
  const pending = createPendingCalls()
  const session: SessionState = {
    deps,
    pending,
    background: { requests: 0, controller: new AbortController() },
    nextId: 1,
    unreadResponseBytes: 0,
  }
  return {
    inFlight: pending.size,
    whenIdle: pending.whenEmpty,
    load: (module) => load(session, module),
    call: (module, call) => callModule(session, module, call),
    receive: (frame) => receive(session, frame),
    close: (cause) => close(session, cause),
  }
}

function load(session: SessionState, module: HostModule): Promise<HostResult<LoadedModule>> {
  const { deps, pending } = session
  return new Promise((resolve) => {
    const operation: PendingLoad = {
      kind: 'load',
      id: session.nextId++,
      title: module.name,
      module: module.name,
      doneController: new AbortController(),
      settle: resolve,
      fail: (failure) => resolve({ ok: false, failure }),
    }
    pending.add(operation)
    deps.send(loadFrame(operation.id, module))
    void cancelAfter(session, operation, deps.limits.loadTimeoutMs)
  })
}

function callModule(session: SessionState, module: HostModule, call: HostCall): Promise<HostResult<unknown>> {
  const { deps, pending } = session
  return new Promise((resolve) => {
    const { signal, deadlineMs, function: fn = entryNameOf(module) } = call
    const serveInContext = bindAsyncContext(call.onRequest ?? deps.onRequest)
    const doneController = new AbortController()
    const operation: PendingCall = {
      kind: 'call',
      id: session.nextId++,
      title: callTitle(module, fn),
      module: module.name,
      doneController,
      settle: resolve,
      fail: (failure) => resolve({ ok: false, failure }),
      references: call.byReference === true ? createObjectReferences() : undefined,
      process: session,
      cancelGraceMs: call.cancelGraceMs ?? deps.limits.graceMs,
      serve: (method, args) => serveInContext({ module: module.name, method, args, signal: doneController.signal }),
      requests: 0,
    }
    try {
      deps.send(callFrame(operation, fn, call))
    } catch (error) {
      const detail = `${operation.title} was not called: its arguments cannot be serialised (${messageOf(error)}).`
      return operation.fail(
        createHostFailure('unserialisable', detail, { attribution: 'other', started: false, cause: error }),
      )
    }
    pending.add(operation)
    if (deadlineMs !== undefined) void cancelAfter(session, operation, deadlineMs)
    if (signal === undefined) return
    const remove = onAbort(signal, () => void cancel(session, operation, 'aborted'))
    onAbort(doneController.signal, remove)
  })
}

async function cancelAfter(session: SessionState, operation: PendingOperation, ms: number): Promise<void> {
  await session.deps.sleep(Math.min(ms, maxTimerMs), operation.doneController.signal)
  await cancel(session, operation, 'timeout')
}

/** Asks an operation to end, and reports it as unresponsive if it has not ended after the grace period. */
async function cancel(
  { deps }: SessionState,
  operation: PendingOperation,
  reason: 'timeout' | 'aborted',
): Promise<void> {
  const { signal } = operation.doneController
  const { graceMs } = deps.limits
  if (signal.aborted || operation.cancelled !== undefined) return
  operation.cancelled = reason
  deps.send(cancelFrame(operation.id))
  await deps.sleep(graceMs, signal)
  const mayTakeLonger = reason === 'aborted' && operation.acknowledged === true && operation.kind === 'call'
  const remainingMs = mayTakeLonger ? operation.cancelGraceMs - graceMs : 0
  if (remainingMs > 0) await deps.sleep(remainingMs, signal)
  if (!signal.aborted) deps.onUnresponsive(operation)
}

function receive(session: SessionState, frame: SessionFrame): boolean {
  switch (frame.t) {
    case 'request':
      void serveRequest(session, frame)
      return true
    case 'cancelAck': {
      const operation = session.pending.get(frame.id)
      if (operation !== undefined) Object.assign(operation, { acknowledged: true, stack: frame.stack })
      return true
    }
    default:
      return settleOperation(session, frame)
  }
}

function settleOperation({ deps, pending }: SessionState, frame: HostResponse): boolean {
  const operation = pending.get(frame.id)
  if (operation === undefined) {
    deps.log.debug(
      { event: 'host.unexpected_response', frame: frame.t },
      'the host sent a response without a pending request',
    )
    return true
  }
  const settle =
    operation.kind === 'load'
      ? createSettler(operation, toLoadResult(operation, frame))
      : createSettler(operation, toCallResult(operation, frame))
  if (settle === undefined) return false
  pending.remove(operation)
  settle()
  return true
}

/** `undefined` if the frame is no valid response to the operation. */
function createSettler<Result>(
  operation: { settle(result: Result): void },
  result: Result | undefined,
): (() => void) | undefined {
  return result === undefined ? undefined : () => operation.settle(result)
}

async function serveRequest(session: SessionState, frame: RequestFrame): Promise<void> {
  if (frame.call === undefined) return serveBackgroundRequest(session, frame)
  const { deps, pending } = session
  const pendingOperation = pending.get(frame.call)
  const operation = pendingOperation?.kind === 'call' ? pendingOperation : undefined
  try {
    if (operation === undefined) throw new Error(`${frame.method}: its call has ended`)
    if (operation.requests >= deps.limits.maxRequests) throw tooManyRequests(deps.limits)
    operation.requests += 1
    try {
      const value = await operation.serve(frame.method, resolveArguments(frame, operation))
      respond(session, resultFrame(frame.id, value, operation))
    } finally {
      operation.requests -= 1
    }
  } catch (error) {
    const hasEnded = operation === undefined || operation.cancelled !== undefined
    respond(session, errorFrame(frame.id, error, operation, hasEnded))
  }
}

async function serveBackgroundRequest(session: SessionState, frame: RequestFrame): Promise<void> {
  const { deps, background } = session
  const { id, module = '', method, args } = frame
  const { signal } = background.controller
  try {
    if (deps.onBackgroundRequest === undefined) throw new Error(`${method} is not available outside of a call`)
    if (background.requests >= deps.limits.maxRequests) throw tooManyRequests(deps.limits)
    background.requests += 1
    try {
      const value = await deps.onBackgroundRequest({ module, method, args, signal })
      respond(session, resultFrame(id, value, undefined))
    } finally {
      background.requests -= 1
    }
  } catch (error) {
    respond(session, errorFrame(id, error, undefined, signal.aborted))
  }
}

function tooManyRequests({ maxRequests }: HostLimits): Error {
  return new Error(`more than ${maxRequests} concurrent requests`)
}

/** Limits the responses that a host does not read. Calls are not limited, because the gateway itself sends them. */
function respond(session: SessionState, line: string): void {
  const { deps } = session
  if (deps.bufferedBytes() === 0) session.unreadResponseBytes = 0
  session.unreadResponseBytes += line.length
  if (session.unreadResponseBytes > 2 * deps.limits.maxFrameBytes) deps.onBackpressure()
  else deps.send(line)
}

function close({ pending, background }: SessionState, cause: ExitCause): void {
  background.controller.abort(new DOMException('The host process has exited.', 'AbortError'))
  const remaining = pending.all()
  for (const operation of remaining) {
    pending.remove(operation)
    operation.fail(failureAtExit(operation, cause, remaining.length === 1))
  }
}

/** `a`, or `a.later` for a function other than the entry. */
export function callTitle(module: HostModule, fn: string): string {
  return fn === entryNameOf(module) ? module.name : `${module.name}.${fn}`
}

/** Serves later requests in the current async context, so that they belong to the same turn and scope as the call. */
function bindAsyncContext(onRequest: HostRequestHandler | undefined): HostRequestHandler {
  if (onRequest === undefined) return async ({ method }) => Promise.reject(new Error(`${method} is not available here`))
  const runInContext = AsyncLocalStorage.snapshot()
  // `async` turns a synchronous exception into a rejection.
  return async (request) => runInContext(onRequest, request)
}
