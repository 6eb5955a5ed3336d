/**
 * A call under the signal of whoever made it: it listens before its first step, and ends soon after an abort.
 */
import { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import { orLeave } from './patience.ts'

/** Settles as the steps do, or with the signal's reason. `mustWait`: something runs that is waited for in any case. */
export function carriedUnder(
  run: CallRun,
  signal: AbortSignal | undefined,
  steps: (root: Branch) => Promise<unknown>,
  mustWait: () => boolean,
): Promise<unknown> {
  const root = new Branch(run.signal)
  if (signal === undefined) return steps(root)
  if (signal.aborted) return Promise.reject(signal.reason)
  return orLeave(() => steps(root), {
    signal,
    graceMs: run.room.graceMs,
    aborted: () => root.abort(signal.reason),
    mustWait,
    letGo: () => run.leave(),
  })
}
