/**
 * The chain around the call itself: NeMo's execution intercepts outside, Hermes' execution kinds inside, the tool or the
 * provider innermost.
 */
import { rejected } from './awaiting.ts'
import type { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, Next } from './contract.ts'
import { throughCallback } from './hermes-frame.ts'
import { throughIntercept } from './nemo-frame.ts'
import type { Entries } from './registry.ts'
import type { ScopeNode } from './scope.ts'

export type NextCall = (value?: Fields | null) => Promise<unknown>

export interface Chain<View = never, Payload = never> {
  readonly run: CallRun
  /** `tool_execution` or `model_execution`. */
  readonly point: string
  readonly outer: Entries<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>
  readonly inner: Entries<(payload: Payload) => Awaitable<unknown>>
  view(value: Fields, branch: Branch): View
  payload(value: Fields, branch: Branch, next: NextCall): Payload
  /** The tool, or the provider's stream to its end. */
  terminal(value: Fields, branch: Branch): Promise<unknown>
  /** The call's own. */
  readonly scope: ScopeNode
}

/** The rest of the chain from this depth on, in the scope of the call wherever it is asked for. Rejects, never throws. */
export function proceed<View, Payload>(
  chain: Chain<View, Payload>,
  depth: number,
  value: Fields,
  branch: Branch,
): Promise<unknown> {
  const { storage } = chain.run.room
  return storage.getStore()?.isWithin(chain.scope) === true
    ? proceedHere(chain, depth, value, branch)
    : storage.run(chain.scope, () => proceedHere(chain, depth, value, branch))
}

function proceedHere<View, Payload>(
  chain: Chain<View, Payload>,
  depth: number,
  value: Fields,
  branch: Branch,
): Promise<unknown> {
  // A step that fails open lets the rest go on without it, but nothing begins on a way that was called off.
  if (branch.ended) return rejected(branch.reason)
  const { outer, inner } = chain
  const intercept = outer[depth]
  if (intercept !== undefined) return throughIntercept(chain, intercept, depth, value, branch, proceed)
  const callback = inner[depth - outer.length]
  if (callback !== undefined) return throughCallback(chain, callback, depth, value, branch, proceed)
  return chain.terminal(value, branch)
}

export type Proceed = typeof proceed
