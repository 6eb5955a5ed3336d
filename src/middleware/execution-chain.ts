/**
 * The chain around the call itself: NeMo's execution intercepts outside, Hermes' execution kinds inside, the tool or the
 * provider innermost.
 */

import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation-scope.ts'
import type { Awaitable, Fields, Next } from './contract.ts'
import { invokeCallback } from './invoke-callback.ts'
import { invokeIntercept } from './invoke-intercept.ts'
import { handledRejection } from './promises.ts'
import type { Entries } from './registry.ts'
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
  /** The call's own. */
  readonly scope: ScopeNode
}

/** The rest of the chain from this depth on, in the scope of the call wherever it is asked for. Rejects, never throws. */
export function dispatch<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
): Promise<unknown> {
  const { scopeStorage } = chain.run.context
  return scopeStorage.getStore()?.isWithin(chain.scope) === true
    ? dispatchInScope(chain, depth, value, branch)
    : scopeStorage.run(chain.scope, () => dispatchInScope(chain, depth, value, branch))
}

function dispatchInScope<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
): Promise<unknown> {
  // A step that fails open lets the rest go on without it, but nothing begins on a way that was called off.
  if (branch.aborted) return handledRejection(branch.reason)
  const { outer, inner } = chain
  const intercept = outer[depth]
  if (intercept !== undefined) return invokeIntercept(chain, intercept, depth, value, branch, dispatch)
  const callback = inner[depth - outer.length]
  if (callback !== undefined) return invokeCallback(chain, callback, depth, value, branch, dispatch)
  return chain.terminal(value, branch)
}

export type Dispatch = typeof dispatch
