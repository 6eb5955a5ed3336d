/**
 * One execution callback of Hermes' kind (seed 000; `contract/hermes.md` §2.8): its `next_call` works once, and what it
 * does wrong costs nobody the call.
 */
import { HermesError } from '../lib/errors.ts'
import { failureOf, rejected } from './awaiting.ts'
import type { Branch } from './branch.ts'
import type { Awaitable, Fields } from './contract.ts'
import { afterThrow, Downstream } from './downstream.ts'
import type { Chain, Proceed } from './execution.ts'
import { nameOf } from './failures.ts'
import type { Entry } from './registry.ts'

export async function throughCallback<View, Payload>(
  chain: Chain<View, Payload>,
  entry: Entry<(payload: Payload) => Awaitable<unknown>>,
  depth: number,
  value: Fields,
  branch: Branch,
  proceed: Proceed,
): Promise<unknown> {
  const { run, point } = chain
  const downstream = new Downstream(run)
  let settled = false
  const nextCall = (given?: Fields | null): Promise<unknown> => {
    if (settled || run.over || branch.ended) return rejected(run.refusal(entry))
    if (downstream.called) return rejected(new HermesError('middleware/next-called-twice', `It was ${nameOf(entry)}.`))
    return downstream.watch(chain.inside(() => proceed(chain, depth + 1, given ?? value, branch)))
  }
  let returned: unknown
  try {
    returned = await entry.callback(chain.payload(value, branch, nextCall))
  } catch (error) {
    settled = true
    if (entry.failsOpen)
      return afterThrow(run, entry, point, downstream, error, () => proceed(chain, depth + 1, value, branch))
    // Nothing is left running behind the back of a call that has failed.
    if (downstream.last !== undefined) await failureOf(downstream.last, () => undefined)
    throw error
  }
  settled = true
  return outcome(downstream, returned)
}

/** Of a callback that has returned. */
function outcome({ called, good, bad, last }: Downstream, returned: unknown): unknown {
  if (!called) return returned
  if (bad !== undefined) {
    // A failure never becomes a success that nobody gave: see "None" in the contract.
    if (returned === undefined || returned === null) throw bad.error
    return returned
  }
  if (good === undefined) return last
  // It only watched and gave nothing back.
  return returned === undefined ? good.value : returned
}
