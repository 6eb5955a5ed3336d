/**
 * The chain around the call itself: NeMo's execution intercepts outside, Hermes' execution kinds inside, the tool or the
 * provider innermost.
 */
import type { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, Next } from './contract.ts'
import { throughCallback } from './hermes-frame.ts'
import { throughIntercept } from './nemo-frame.ts'
import type { Entries } from './registry.ts'

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
  /** Runs it inside of the call's scope, wherever it is called from. */
  inside<Value>(work: () => Value): Value
}

/** The rest of the chain from this depth on. Never throws: it rejects. */
export function proceed<View, Payload>(
  chain: Chain<View, Payload>,
  depth: number,
  value: Fields,
  branch: Branch,
): Promise<unknown> {
  const { outer, inner } = chain
  const intercept = outer[depth]
  if (intercept !== undefined) return throughIntercept(chain, intercept, depth, value, branch, proceed)
  const callback = inner[depth - outer.length]
  if (callback !== undefined) return throughCallback(chain, callback, depth, value, branch, proceed)
  return chain.terminal(value, branch)
}

export type Proceed = typeof proceed
