/**
 * A call under the signal of whoever made it: it listens before its first step, and ends soon after an abort.
 */

import type { CallRun } from './call-run.ts'
import { CancellationScope } from './cancellation-scope.ts'
import { withGracePeriod } from './grace-period.ts'

/** Settles as the steps do, or with the signal's reason. `mustWait`: something runs that is waited for in any case. */
export function runWithAbort(
  run: CallRun,
  signal: AbortSignal | undefined,
  steps: (root: CancellationScope) => Promise<unknown>,
  mustFinish: () => boolean,
): Promise<unknown> {
  const root = new CancellationScope(run.signal)
  if (signal === undefined) return steps(root)
  if (signal.aborted) return Promise.reject(signal.reason)
  return withGracePeriod(() => steps(root), {
    signal,
    graceMs: run.context.graceMs,
    onAbort: () => root.abort(signal.reason),
    mustFinish,
    onDetach: () => run.detach(),
  })
}
