/**
 * The execution chain: NeMo's execution intercepts outside, Hermes' execution callbacks inside, the tool or the provider
 * innermost.
 */

import { HermesError } from '../lib/errors.ts'
import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation.ts'
import type { Awaitable, Fields, Next } from './contract.ts'
import { describeOrigin, isAbortError } from './failures.ts'
import { isGuardrailRejected } from './guardrail-rejected.ts'
import { type Downstream, isNextInput, NextHandle, rejectNextInput } from './next-handle.ts'
import { catchTo, handledRejection } from './promises.ts'
import type { Entries, Entry } from './registry.ts'
import type { ScopeNode } from './scope.ts'

export type NextCall = (value?: Fields | null) => Promise<unknown>

export interface ExecutionChain<View = never, Payload = never> {
  readonly run: CallRun
  /** `tool_execution` or `model_execution`. */
  readonly point: string
  readonly outer: Entries<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>
  readonly inner: Entries<(payload: Payload) => Awaitable<unknown>>
  view(value: Fields, branch: CancellationScope): View
  payload(value: Fields, branch: CancellationScope, next: NextCall): Payload
  /** The tool, or the provider's stream to its end. */
  terminal(value: Fields, branch: CancellationScope): Promise<unknown>
  /** The scope of the call. */
  readonly scope: ScopeNode
}

/** Runs the chain from `depth` on, always in the scope of the call. Rejects, never throws. */
export function dispatch<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
): Promise<unknown> {
  const { storage } = chain.run.context.scopes
  return storage.getStore()?.isWithin(chain.scope) === true
    ? dispatchInScope(chain, depth, value, branch)
    : storage.run(chain.scope, () => dispatchInScope(chain, depth, value, branch))
}

function dispatchInScope<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
): Promise<unknown> {
  // A callback that fails open is skipped, but an aborted branch starts nothing.
  if (branch.aborted) return handledRejection(branch.reason)
  const { outer, inner } = chain
  const intercept = outer[depth]
  if (intercept !== undefined) return invokeIntercept(chain, intercept, depth, value, branch)
  const callback = inner[depth - outer.length]
  if (callback !== undefined) return invokeCallback(chain, callback, depth, value, branch)
  return chain.terminal(value, branch)
}

/**
 * Runs an execution intercept of the NeMo family. It may call `next` any number of times, each time on a branch of its own;
 * when it settles, the branches that still run are aborted (`contract/middleware.md` §1.6).
 */
async function invokeIntercept<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  entry: Entry<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
): Promise<unknown> {
  const { run } = chain
  const handle = new NextHandle<Fields, unknown>(run, entry, branch, (replacement, invocation) =>
    dispatch(chain, depth + 1, replacement ?? value, invocation),
  )
  try {
    return await entry.callback(chain.view(value, branch), handle.next)
  } catch (error) {
    run.context.errorOrigins.record(error, entry)
    if (!entry.failsOpen) throw error
    return await recoverFailOpen(run, entry, chain.point, handle, error, () =>
      dispatch(chain, depth + 1, value, branch),
    )
  } finally {
    handle.revoke()
  }
}

/** Runs an execution callback of Hermes, which may call `next_call` once (`contract/hermes.md` §2.8). */
async function invokeCallback<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  entry: Entry<(payload: Payload) => Awaitable<unknown>>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
): Promise<unknown> {
  const { run, point } = chain
  let settled = false
  let rest: DownstreamCall | undefined
  const nextCall = (replacement?: Fields | null): Promise<unknown> => {
    if (settled || branch.aborted) return run.rejectNextRevoked(entry)
    if (!isNextInput(replacement)) return rejectNextInput(entry)
    if (rest !== undefined)
      return handledRejection(new HermesError('middleware/next-called-twice', `Callback: ${describeOrigin(entry)}.`))
    rest = new DownstreamCall(dispatch(chain, depth + 1, replacement ?? value, branch), (error) =>
      run.recordFailure(error),
    )
    return rest.last
  }
  let returned: unknown
  try {
    returned = await entry.callback(chain.payload(value, branch, nextCall))
  } catch (error) {
    settled = true
    run.context.errorOrigins.record(error, entry)
    if (entry.failsOpen)
      return recoverFailOpen(run, entry, point, rest ?? notCalled, error, () =>
        dispatch(chain, depth + 1, value, branch),
      )
    // A failed call must not settle while the rest of it still runs.
    if (rest !== undefined) await catchTo(rest.last, () => undefined)
    throw error
  }
  settled = true
  return rest === undefined ? returned : resultAfterReturn(rest, returned)
}

const notCalled: Downstream = { last: undefined, result: undefined, failure: undefined }

/** The rest of the call after `next_call`. It handles its rejection, so that the callback does not have to. */
class DownstreamCall implements Downstream {
  readonly last: Promise<unknown>
  result: { readonly value: unknown } | undefined
  failure: { readonly error: unknown } | undefined

  constructor(work: Promise<unknown>, failed: (error: unknown) => void) {
    this.last = work
    work.then(
      (value) => {
        this.result = { value }
      },
      (error) => {
        this.failure = { error }
        failed(error)
      },
    )
  }
}

/** The result after a callback called `next_call` and returned. */
function resultAfterReturn({ last, result, failure }: DownstreamCall, returned: unknown): unknown {
  if (failure !== undefined) {
    // A failure never turns into an empty success: see "None" in the contract.
    if (returned === undefined || returned === null) throw failure.error
    return returned
  }
  if (result === undefined) return last
  // A callback that returns nothing keeps the result.
  return returned === undefined ? result.value : returned
}

/**
 * The result of the call after a callback that fails open has thrown: the rest runs at most once, and a good result is kept.
 * `skip` runs the rest without the callback. A `GuardrailRejected` is deliberate, so it always ends the call, like
 * `LLMExecutionBlocked` in Hermes.
 */
async function recoverFailOpen(
  run: CallRun,
  entry: Entry<unknown>,
  point: string,
  { last, result, failure }: Downstream,
  error: unknown,
  skip: () => Promise<unknown>,
): Promise<unknown> {
  if (isGuardrailRejected(error)) throw error
  const report = (effect: string) => run.context.failures.report(entry, point, error, effect)
  if (last === undefined) {
    run.throwIfAborted(error)
    report('the call continues without it')
    return skip()
  }
  if (result === undefined && failure === undefined) {
    report('the result of the call is kept')
    return last
  }
  // The callback passed the failure on or replaced it.
  if (result === undefined || isAbortError(error, run.signal)) throw error
  report('the result of the call is kept')
  return result.value
}
