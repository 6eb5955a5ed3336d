/**
 * One execution intercept of NeMo's kind. Its `next` may be called any number of times, each on a way of its own, until the
 * intercept settles; then what still runs is called off (`contract/middleware.md` §1.6). It fails closed, unless it was
 * registered to fail open: then it fares like a Hermes callback.
 */
import type { CancellationScope } from './cancellation-scope.ts'
import type { Awaitable, Fields, Next } from './contract.ts'
import type { Dispatch, ExecutionChain } from './execution-chain.ts'
import { recoverFailOpen } from './fail-open.ts'
import { NextHandle } from './next-handle.ts'
import type { Entry } from './registry.ts'

export async function invokeIntercept<View, Payload>(
  chain: ExecutionChain<View, Payload>,
  entry: Entry<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>,
  depth: number,
  value: Fields,
  branch: CancellationScope,
  dispatch: Dispatch,
): Promise<unknown> {
  const { run } = chain
  const handle = new NextHandle<Fields, unknown>(run, entry, branch, (given, invocation) =>
    dispatch(chain, depth + 1, given ?? value, invocation),
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
