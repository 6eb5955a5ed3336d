/**
 * Entry of every managed call. A call that no registration concerns runs directly: no copies, no wrappers, no timing.
 * Every other call enters the pipeline. A call that was aborted settles soon, even if some code in it ignores its signal.
 */

import type { Logger } from '../lib/log.ts'
import { onAbort, sleep, withTimeout } from '../lib/timers.ts'
import type { Fields } from './contract.ts'
import type { ErrorOrigins } from './failures.ts'
import type { ManagedModelCall, ManagedToolCall, Middleware } from './managed-call.ts'
import { catchTo } from './promises.ts'
import { currentScope, type ScopeContext, type ScopeNode } from './scope.ts'

export type AnyToolCall = ManagedToolCall<Fields, unknown>
export type AnyModelCall = ManagedModelCall<Fields, unknown, unknown>

export interface CallsContext {
  readonly scopes: ScopeContext
  readonly errorOrigins: ErrorOrigins
  readonly log: Logger
  /** For callers without a signal: never aborts and keeps no listeners. */
  readonly neverSignal: AbortSignal
  /** How long an aborted call may take to settle. */
  readonly graceMs: number
}

export interface CallsDeps extends CallsContext {
  runManagedTool(call: AnyToolCall, scope: ScopeNode): Promise<unknown>
  /** Runs the stages after `policy`, which has allowed the arguments. */
  runAllowedTool(call: AnyToolCall, scope: ScopeNode): Promise<unknown>
  runManagedModel(call: AnyModelCall, scope: ScopeNode): Promise<unknown>
}

export function createCalls(
  deps: CallsDeps,
): Pick<Middleware, 'tool' | 'model' | 'canChangeModelOutput' | 'streamedText'> {
  const { scopes } = deps

  function tool<Args extends Fields, Result>(call: ManagedToolCall<Args, Result>): Promise<Result>
  function tool(call: AnyToolCall): Promise<unknown> {
    if (scopes.registered > 0) {
      const scope = currentScope(scopes)
      if (scope.snapshot.tools) return deps.runManagedTool(call, scope)
    }
    return runDirectTool(deps, call)
  }

  function model<Request extends Fields, Chunk, Response>(
    call: ManagedModelCall<Request, Chunk, Response>,
  ): Promise<Response>
  function model(call: AnyModelCall): Promise<unknown> {
    if (scopes.registered > 0) {
      const scope = currentScope(scopes)
      if (scope.snapshot.models) return deps.runManagedModel(call, scope)
    }
    return runDirectModel(deps, call)
  }

  return {
    tool,
    model,
    canChangeModelOutput() {
      if (scopes.registered === 0) return false
      const { intercepts, hermes } = currentScope(scopes).snapshot
      return intercepts.model_execution.length + hermes.llm_execution.length > 0
    },
    streamedText() {
      if (scopes.registered === 0) return 'final'
      const { intercepts, hermes } = currentScope(scopes).snapshot
      const modes = [...intercepts.model_execution, ...hermes.llm_execution].map(({ answers }) => answers)
      if (modes.includes('replaced')) return 'withheld'
      return modes.every((mode) => mode === 'unchanged') ? 'final' : 'provisional'
    },
  }
}

function runDirectTool(deps: CallsDeps, call: AnyToolCall): Promise<unknown> {
  try {
    if (call.policy === undefined) return call.handler(call.args, call.signal ?? deps.neverSignal)
    const allowed = call.policy(call.args, [])
    return allowed instanceof Promise
      ? allowed.then((args) => runAllowedTool(deps, call, args))
      : runAllowedTool(deps, call, allowed)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** A registration that was added during `policy`, which may wait for a user, applies to the same call. */
function runAllowedTool(deps: CallsDeps, call: AnyToolCall, allowed: Fields): Promise<unknown> {
  if (deps.scopes.registered > 0) {
    const scope = currentScope(deps.scopes)
    if (scope.snapshot.tools) return deps.runAllowedTool({ ...call, args: allowed }, scope)
  }
  return call.handler(allowed, call.signal ?? deps.neverSignal)
}

function runDirectModel(deps: CallsDeps, call: AnyModelCall): Promise<unknown> {
  const { log, graceMs } = deps
  let detached = false
  return runWithAbort(() => rewriteAndPull(deps, call, () => detached), {
    signal: call.signal,
    graceMs,
    // The stream has the caller's own signal.
    onAbort: () => undefined,
    mustFinish: () => false,
    onDetach() {
      detached = true
      logDetached(log, 'model', call.provider, graceMs)
    },
  })
}

/** The result does not matter once the call is detached. */
async function rewriteAndPull(deps: CallsDeps, call: AnyModelCall, isDetached: () => boolean): Promise<unknown> {
  const { signal = deps.neverSignal } = call
  let { request } = call
  if (call.rewrite !== undefined) {
    request = await call.rewrite(request, [])
    if (isDetached()) return undefined
    const scope = currentScope(deps.scopes)
    // A registration that was added during the rewrite applies to the stages that follow.
    if (deps.scopes.registered > 0 && scope.snapshot.models)
      return deps.runManagedModel({ ...call, request, rewrite: (rewritten) => rewritten }, scope)
  }
  call.onRequest?.(request, [])
  return pullProvider(deps, call, request, signal, { isDetached })
}

/** What the end event reports about a stream. */
export interface StreamProgress {
  /** µs since 1970; undefined before the first chunk. */
  firstChunkUs: number | undefined
  /** What the collector makes of an incomplete stream. */
  partial: unknown
  /** Publishes a mark for a chunk; undefined if no subscriber receives them. */
  publishChunk: ((index: number) => void) | undefined
}

export interface PullOptions {
  /** Undefined if no event reports about the stream. */
  readonly progress?: StreamProgress
  /** Whether the call has settled after an abort. The stream is closed then, and chunks that arrive late are dropped. */
  isDetached(): boolean
}

/** Reads the provider's stream to its end, without reading ahead. The stream itself returns the response. */
export async function pullProvider(
  context: CallsContext,
  call: AnyModelCall,
  request: Fields,
  signal: AbortSignal,
  { progress, isDetached }: PullOptions,
): Promise<unknown> {
  call.onStreamStart?.()
  const chunks = call.stream(request, signal)
  let open = true
  try {
    for (let index = 0; ; index++) {
      const step = await chunks.next()
      if (step.done === true) {
        open = false
        return step.value
      }
      if (isDetached()) return undefined
      if (progress !== undefined) progress.firstChunkUs ??= context.scopes.now()
      progress?.publishChunk?.(index)
      call.onChunk?.(step.value)
    }
  } catch (error) {
    context.errorOrigins.record(error, undefined)
    throw error
  } finally {
    // The generator is closed after a failure, too: closing one that has ended does nothing.
    if (open) await closeWithGracePeriod(chunks, call.provider, context)
  }
}

export interface AbortOptions {
  readonly signal: AbortSignal | undefined
  readonly graceMs: number
  onAbort(): void
  /** Whether the call must wait for running code in any case: a tool may be in the middle of a side effect. */
  mustFinish(): boolean
  /** The grace period is over; the call settles although its work has not. */
  onDetach(): void
}

/** Settles as the work does. After an abort, rejects with the signal's reason once the grace period is over. */
export function runWithAbort<Value>(work: () => Promise<Value>, options: AbortOptions): Promise<Value> {
  const { signal, graceMs } = options
  if (signal === undefined) return work()
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let settled: AbortController | undefined
    const waitForGrace = async (over: AbortSignal) => {
      options.onAbort()
      do {
        await sleep(graceMs, over)
        if (over.aborted) return
      } while (options.mustFinish())
      options.onDetach()
      reject(signal.reason)
    }
    const onAbortEvent = () => {
      settled = new AbortController()
      void waitForGrace(settled.signal)
    }
    // Listens before the work starts, because its first step may abort the signal.
    const removeListener = onAbort(signal, onAbortEvent)
    const cleanUp = () => {
      removeListener()
      settled?.abort()
    }
    work().then(
      (value) => {
        cleanUp()
        resolve(value)
      },
      (error) => {
        cleanUp()
        reject(error)
      },
    )
  })
}

/** Logs that a call settled while code in it still runs. */
export function logDetached(log: Logger, kind: 'tool' | 'model', name: string, graceMs: number): void {
  log.warn(
    { event: 'middleware.call_detached', [kind]: name, graceMs },
    `a ${kind} call was aborted, but code in it ignores the signal and still runs`,
  )
}

/** Closes an iterator that may ignore it. Never rejects: failures are logged. */
export async function closeWithGracePeriod(
  iterator: AsyncIterator<unknown, unknown, undefined>,
  stream: string,
  { log, graceMs }: { readonly log: Logger; readonly graceMs: number },
): Promise<void> {
  const close = async () => {
    await iterator.return?.()
  }
  const closing = catchTo(close(), (error) =>
    log.warn({ event: 'middleware.stream_close_failed', stream, err: error }, 'a stream failed when it was closed'),
  )
  const closed = await withTimeout(closing, graceMs)
  if (!closed.done)
    log.warn({ event: 'middleware.stream_abandoned', stream, graceMs }, 'a stream ignores its close and is abandoned')
}
