/**
 * Entry of every managed call. A call that no registration concerns runs directly: no copies, no wrappers, no timing.
 * Every other call enters the pipeline.
 */
import type { Logger } from '../lib/log.ts'
import { closeWithGracePeriod, logDetached, runWithAbort } from './cancellation.ts'
import type { Fields, ManagedModelCall, ManagedToolCall, Middleware } from './contract.ts'
import type { ErrorOrigins } from './failures.ts'
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
  runManagedModel(call: AnyModelCall, scope: ScopeNode): Promise<unknown>
}

export function createCalls(deps: CallsDeps): Pick<Middleware, 'tool' | 'model' | 'canChangeModelOutput'> {
  const { scopes } = deps

  function tool<Args extends Fields, Result>(call: ManagedToolCall<Args, Result>): Promise<Result>
  function tool(call: AnyToolCall): Promise<unknown> {
    if (scopes.registered > 0) {
      const scope = currentScope(scopes)
      if (scope.snapshot.tools) return deps.runManagedTool(call, scope)
    }
    return runDirectTool(call, call.signal ?? deps.neverSignal)
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
  }
}

function runDirectTool(call: AnyToolCall, signal: AbortSignal): Promise<unknown> {
  try {
    if (call.policy === undefined) return call.handler(call.args, signal)
    const allowed = call.policy(call.args, [])
    return allowed instanceof Promise
      ? allowed.then((args) => call.handler(args, signal))
      : call.handler(allowed, signal)
  } catch (error) {
    return Promise.reject(error)
  }
}

function runDirectModel(deps: CallsDeps, call: AnyModelCall): Promise<unknown> {
  const { log, graceMs } = deps
  let detached = false
  const throwIfDetached = () => {
    if (detached) throw call.signal?.reason
  }
  return runWithAbort(() => rewriteAndPull(deps, call, throwIfDetached), {
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

async function rewriteAndPull(deps: CallsDeps, call: AnyModelCall, throwIfDetached: () => void): Promise<unknown> {
  const { signal = deps.neverSignal } = call
  let { request } = call
  if (call.rewrite !== undefined) {
    request = await call.rewrite(request, [])
    throwIfDetached()
    const scope = currentScope(deps.scopes)
    // A registration that was added during the rewrite applies to the stages that follow.
    if (deps.scopes.registered > 0 && scope.snapshot.models)
      return deps.runManagedModel({ ...call, request, rewrite: (rewritten) => rewritten }, scope)
  }
  call.onRequest?.(request, [])
  return pullProvider(deps, call, request, signal, undefined)
}

/** What the end event reports about a stream. */
export interface StreamProgress {
  /** µs since 1970; undefined before the first chunk. */
  firstChunkUs: number | undefined
  /** What the collector makes of an incomplete stream. */
  partial: unknown
}

/** Reads the provider's stream to its end, without reading ahead. The stream itself returns the response. */
export async function pullProvider(
  context: CallsContext,
  call: AnyModelCall,
  request: Fields,
  signal: AbortSignal,
  progress: StreamProgress | undefined,
): Promise<unknown> {
  call.onStreamStart?.()
  const chunks = call.stream(request, signal)
  let open = true
  try {
    for (;;) {
      const step = await chunks.next()
      if (step.done === true) {
        open = false
        return step.value
      }
      if (progress !== undefined) progress.firstChunkUs ??= context.scopes.now()
      call.onChunk?.(step.value)
    }
  } catch (error) {
    context.errorOrigins.record(error, undefined)
    throw error
  } finally {
    // Also after a failure: closing a generator that has ended does nothing.
    if (open) await closeWithGracePeriod(chunks, call.provider, context)
  }
}
