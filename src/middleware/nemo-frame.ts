/**
 * One execution intercept of NeMo's kind. Its `next` may be called any number of times, each on a way of its own, until the
 * intercept settles; then what still runs is called off (`contract/middleware.md` §1.6). It fails closed, unless it was
 * registered to fail open: then it fares like a Hermes callback.
 */
import type { Branch } from './branch.ts'
import type { Awaitable, Fields, Next } from './contract.ts'
import { afterThrow } from './downstream.ts'
import type { Chain, Proceed } from './execution.ts'
import { Lease } from './lease.ts'
import type { Entry } from './registry.ts'

export async function throughIntercept<View, Payload>(
  chain: Chain<View, Payload>,
  entry: Entry<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>,
  depth: number,
  value: Fields,
  branch: Branch,
  proceed: Proceed,
): Promise<unknown> {
  const { run } = chain
  const lease = new Lease<Fields, unknown>(run, entry, branch, (given, way) =>
    proceed(chain, depth + 1, given ?? value, way),
  )
  try {
    return await entry.callback(chain.view(value, branch), lease.next)
  } catch (error) {
    run.room.culprits.met(error, entry)
    if (!entry.failsOpen) throw error
    return await afterThrow(run, entry, chain.point, lease, error, () => proceed(chain, depth + 1, value, branch))
  } finally {
    lease.end()
  }
}
