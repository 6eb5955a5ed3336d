/**
 * Asking a running host: loads and calls go out, answers and requests come back, and what takes too long is asked to end.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../lib/errors.ts'
import type { HostCall, HostLimits, HostModule, HostOptions, HostResult, LoadedModule } from './contract.ts'
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
import { createPendingCalls, type PendingCall, type PendingLoad, type PendingOperation } from './pending-calls.ts'
import type { FrameFromHost } from './protocol.ts'
import { createObjectReferences } from './references.ts'

export type SessionFrame = Extract<FrameFromHost, { id: number }>

export interface RpcSessionOptions extends Pick<HostOptions, 'log' | 'onRequest' | 'onBackgroundRequest'> {
  readonly limits: HostLimits
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  send(line: string): void
  /** Bytes that were sent and not taken yet. */
  bufferedBytes(): number
  /** It asks and does not read what it is answered; nothing helps but to end the process. */
  onBackpressure(): void
  /** It did not end when it was asked to; nothing helps but to end the process. */
  onUnresponsive(one: PendingOperation): void
}

export interface RpcSession {
  /** Never rejects. */
  load(module: HostModule): Promise<HostResult<LoadedModule>>
  /** Never rejects. */
  call(module: HostModule, call: HostCall): Promise<HostResult<unknown>>
  /** What the host says about something in flight. False when that makes no sense. */
  receive(frame: SessionFrame): boolean
  inFlight(): number
  /** Resolves as soon as nothing is in flight. */
  whenIdle(): Promise<void>
  /** The process is gone: whatever is in flight fails. */
  close(cause: ExitCause): void
}

/** A timer of more would be over at once. */
const maxTimerMs = 2 ** 31 - 1

export function createRpcSession({
  limits,
  log,
  sleep,
  send,
  bufferedBytes,
  onBackpressure,
  onUnresponsive,
  ...options
}: RpcSessionOptions): RpcSession {
  const pendingCalls = createPendingCalls()
  let nextId = 1
  /** Bytes of answers since the host had last read everything, or nearly so. */
  let unreadResponseBytes = 0

  /** Asks one to end; tells when it has not ended after a short grace. */
  const cancel = async (one: PendingOperation, why: 'timeout' | 'aborted') => {
    if (one.doneController.signal.aborted || one.cancelled !== undefined) return
    one.cancelled = why
    send(cancelFrame(one.id))
    await sleep(limits.graceMs, one.doneController.signal)
    const more =
      why === 'aborted' && one.acknowledged === true && one.kind === 'call' ? one.cancelGraceMs - limits.graceMs : 0
    if (more > 0) await sleep(more, one.doneController.signal)
    if (!one.doneController.signal.aborted) onUnresponsive(one)
  }
  const cancelAfter = async (one: PendingOperation, ms: number) => {
    await sleep(Math.min(ms, maxTimerMs), one.doneController.signal)
    await cancel(one, 'timeout')
  }

  /** Answers that nobody reads would pile up here; calls that wait to be read do not count, they are ours. */
  const respond = (line: string) => {
    if (bufferedBytes() === 0) unreadResponseBytes = 0
    unreadResponseBytes += line.length
    if (unreadResponseBytes > 2 * limits.maxFrameBytes) onBackpressure()
    else send(line)
  }
  /** Of modules, outside of calls. */
  const background = { requests: 0, over: new AbortController() }
  const serveBackgroundRequest = async ({
    id,
    module = '',
    method,
    args,
  }: Extract<FrameFromHost, { t: 'request' }>) => {
    try {
      const { onBackgroundRequest } = options
      if (onBackgroundRequest === undefined) throw new Error(`${method} is not available outside of a call`)
      if (background.requests >= limits.maxRequests) throw new Error(`more than ${limits.maxRequests} requests at once`)
      background.requests += 1
      try {
        respond(
          resultFrame(
            id,
            await onBackgroundRequest({ module, method, args, signal: background.over.signal }),
            undefined,
          ),
        )
      } finally {
        background.requests -= 1
      }
    } catch (error) {
      respond(errorFrame(id, error, undefined, background.over.signal.aborted))
    }
  }
  const serveRequest = async (frame: Extract<FrameFromHost, { t: 'request' }>) => {
    if (frame.call === undefined) return serveBackgroundRequest(frame)
    const found = pendingCalls.get(frame.call)
    const one = found?.kind === 'call' ? found : undefined
    try {
      if (one === undefined) throw new Error(`${frame.method}: the call it belongs to is over`)
      if (one.requests >= limits.maxRequests) throw new Error(`more than ${limits.maxRequests} requests at once`)
      one.requests += 1
      try {
        const value = await one.serve(frame.method, resolveArguments(frame, one))
        respond(resultFrame(frame.id, value, one))
      } finally {
        one.requests -= 1
      }
    } catch (error) {
      respond(errorFrame(frame.id, error, one, one === undefined || one.cancelled !== undefined))
    }
  }

  const resolveResponse = (frame: HostResponse): boolean => {
    const one = pendingCalls.get(frame.id)
    if (one === undefined) {
      log.debug(
        { event: 'host.unexpected_response', frame: frame.t },
        'the host sent a response without a pending request',
      )
      return true
    }
    const completeCall =
      one.kind === 'load' ? createSettler(one, toLoadResult(one, frame)) : createSettler(one, toCallResult(one, frame))
    if (completeCall === undefined) return false
    pendingCalls.remove(one)
    completeCall()
    return true
  }

  return {
    inFlight: pendingCalls.size,
    whenIdle: pendingCalls.whenEmpty,

    load: (module) =>
      new Promise((settleLoad) => {
        const one: PendingLoad = {
          kind: 'load',
          id: nextId++,
          title: module.name,
          module: module.name,
          doneController: new AbortController(),
          settle: settleLoad,
          fail: (failure) => settleLoad({ ok: false, failure }),
        }
        pendingCalls.add(one)
        send(loadFrame(one.id, module))
        void cancelAfter(one, limits.loadTimeoutMs)
      }),

    call: (module, call) =>
      new Promise((settleCall) => {
        const { signal, deadlineMs, function: fn = entryNameOf(module) } = call
        const serveInContext = bindAsyncContext(call.onRequest ?? options.onRequest)
        const one: PendingCall = {
          kind: 'call',
          id: nextId++,
          title: callTitle(module, fn),
          module: module.name,
          doneController: new AbortController(),
          settle: settleCall,
          fail: (failure) => settleCall({ ok: false, failure }),
          references: call.byReference === true ? createObjectReferences() : undefined,
          cancelGraceMs: call.cancelGraceMs ?? limits.graceMs,
          serve: (method, args) =>
            serveInContext({ module: module.name, method, args, signal: one.doneController.signal }),
          requests: 0,
        }
        try {
          send(callFrame(one, fn, call))
        } catch (error) {
          const detail = `${one.title} was not called: its arguments are no JSON (${messageOf(error)}).`
          return one.fail(
            createHostFailure('unserialisable', detail, { attribution: 'other', started: false, cause: error }),
          )
        }
        pendingCalls.add(one)
        if (deadlineMs !== undefined) void cancelAfter(one, deadlineMs)
        signal?.addEventListener('abort', () => void cancel(one, 'aborted'), {
          once: true,
          signal: one.doneController.signal,
        })
      }),

    receive(frame) {
      switch (frame.t) {
        case 'request':
          void serveRequest(frame)
          return true
        case 'cancelAck': {
          const one = pendingCalls.get(frame.id)
          if (one !== undefined) Object.assign(one, { acknowledged: true, stack: frame.stack })
          return true
        }
        default:
          return resolveResponse(frame)
      }
    },

    close(cause) {
      background.over.abort(new DOMException('The process is gone.', 'AbortError'))
      const left = pendingCalls.all()
      for (const one of left) {
        pendingCalls.remove(one)
        one.fail(failureAtExit(one, cause, left.length === 1))
      }
    },
  }
}

/** `a`, or `a.later` for another function than its entry. */
export function callTitle(module: HostModule, fn: string): string {
  return fn === entryNameOf(module) ? module.name : `${module.name}.${fn}`
}

/** What to do when an answer has come; undefined where it is none. */
function createSettler<Result>(
  one: { settle(result: Result): void },
  result: Result | undefined,
): (() => void) | undefined {
  return result === undefined ? undefined : () => one.settle(result)
}

/** Serves later requests as if they were made here and now, so that they belong to the same turn and scope. */
function bindAsyncContext(onRequest: HostOptions['onRequest']): NonNullable<HostOptions['onRequest']> {
  if (onRequest === undefined) return async ({ method }) => Promise.reject(new Error(`${method} is not available here`))
  const reenter = AsyncLocalStorage.snapshot()
  // `async`: what is thrown at once is a refusal, too.
  return async (request) => reenter(onRequest, request)
}
