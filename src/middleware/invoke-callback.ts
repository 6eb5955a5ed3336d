/**
 * One execution callback of Hermes' kind (seed 000; `contract/hermes.md` §2.8): its `next_call` works once, and what it
 * does wrong costs nobody the call.
 */
import { HermesError } from '../lib/errors.ts'
import type { CancellationScope } from './cancellation-scope.ts'
import type { Awaitable, Fields } from './contract.ts'
import type { Dispatch, ExecutionChain } from './execution-chain.ts'
import { type Downstream, recoverFailOpen } from './fail-open.ts'
import { describeOrigin } from './failure-reporter.ts'
import { catchTo, handledRejection } from './promises.ts'
import type { Entry } from './registry.ts'

export async function invokeCallback<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  entry: Entry<(payload: Payload) => Awaitable<unknown>>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
  dispatch: Dispatch,
): Promise<unknown> {
  const { run, point } = chain
  let settled = false
  let rest: DownstreamCall | undefined
  const nextCall = (given?: Fields | null): Promise<unknown> => {
    if (settled || branch.aborted) return run.rejectNextRevoked(entry)
    if (rest !== undefined)
      return handledRejection(new HermesError('middleware/next-called-twice', `It was ${describeOrigin(entry)}.`))
    rest = new DownstreamCall(dispatch(chain, depth + 1, given ?? value, branch), (error) => run.recordFailure(error))
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
    // Nothing is left running behind the back of a call that has failed.
    if (rest !== undefined) await catchTo(rest.last, () => undefined)
    throw error
  }
  settled = true
  return rest === undefined ? returned : resultAfterReturn(rest, returned)
}

const notCalled: Downstream = { last: undefined, result: undefined, failure: undefined }

/** The rest of the call, once it runs. Its rejection is seen here, so that it need not be seen by the callback. */
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

/** Of a callback that has called the rest and returned. */
function resultAfterReturn({ last, result, failure }: DownstreamCall, returned: unknown): unknown {
  if (failure !== undefined) {
    // A failure never becomes a success that nobody gave: see "None" in the contract.
    if (returned === undefined || returned === null) throw failure.error
    return returned
  }
  if (result === undefined) return last
  // It only watched and gave nothing back.
  return returned === undefined ? result.value : returned
}
