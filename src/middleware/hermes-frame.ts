/**
 * One execution callback of Hermes' kind (seed 000; `contract/hermes.md` §2.8): its `next_call` works once, and what it
 * does wrong costs nobody the call.
 */
import { HermesError } from '../lib/errors.ts'
import { failureOf, rejected } from './awaiting.ts'
import type { Branch } from './branch.ts'
import type { Awaitable, Fields } from './contract.ts'
import { afterThrow, type Downstream } from './downstream.ts'
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
  let settled = false
  let rest: Rest | undefined
  const nextCall = (given?: Fields | null): Promise<unknown> => {
    if (settled || branch.ended) return run.refuse(entry)
    if (rest !== undefined) return rejected(new HermesError('middleware/next-called-twice', `It was ${nameOf(entry)}.`))
    rest = new Rest(proceed(chain, depth + 1, given ?? value, branch), (error) => run.failed(error))
    return rest.last
  }
  let returned: unknown
  try {
    returned = await entry.callback(chain.payload(value, branch, nextCall))
  } catch (error) {
    settled = true
    run.room.culprits.met(error, entry)
    if (entry.failsOpen)
      return afterThrow(run, entry, point, rest ?? none, error, () => proceed(chain, depth + 1, value, branch))
    // Nothing is left running behind the back of a call that has failed.
    if (rest !== undefined) await failureOf(rest.last, () => undefined)
    throw error
  }
  settled = true
  return rest === undefined ? returned : outcome(rest, returned)
}

const none: Downstream = { last: undefined, result: undefined, failure: undefined }

/** The rest of the call, once it runs. Its rejection is seen here, so that it need not be seen by the callback. */
class Rest implements Downstream {
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

/** Of a callback that has called the rest and returned. */
function outcome({ last, result, failure }: Rest, returned: unknown): unknown {
  if (failure !== undefined) {
    // A failure never becomes a success that nobody gave: see "None" in the contract.
    if (returned === undefined || returned === null) throw failure.error
    return returned
  }
  if (result === undefined) return last
  // It only watched and gave nothing back.
  return returned === undefined ? result.value : returned
}
