/**
 * What `hermes hooks list` and the API say of a hook.
 */
import type { HookCounts } from './health.ts'
import type { ListenerState } from './listener.ts'

export interface HookStatus extends HookCounts {
  readonly name: string
  /** `folder`: HOOK.yaml and a handler. The others stand in config.yaml. */
  readonly kind: 'folder' | 'command' | 'webhook'
  readonly description: string
  /** As they were written. */
  readonly events: readonly string[]
  /** `disabled`: by its manifest. `invalid`: cannot be used as it is. `not-accepted`: nobody has allowed it to run. */
  readonly state: ListenerState | 'disabled' | 'invalid' | 'not-accepted'
  /** Why it is not `ready`; '' when it is. */
  readonly reason: string
  /** Why its newest version is not in use; '' when it is. */
  readonly problem: string
  /** Events that wait for it. */
  readonly waiting: number
  /** `typescript`, `javascript`, `python`; '' where there is no handler. */
  readonly language: string
  /** `shipped` with the gateway, `home`, or `config`. */
  readonly origin: 'shipped' | 'home' | 'config'
  /** '' for hooks of the configuration. */
  readonly folder: string
  readonly priority: number
  readonly timeoutMs: number
}

export const zeroCounts: HookCounts & { readonly waiting: number } = {
  fired: 0,
  failed: 0,
  dropped: 0,
  kills: 0,
  meanMs: null,
  p99Ms: null,
  lastError: null,
  waiting: 0,
}

/** A hook that does not do what its owner wants of it, in one line. */
export interface UnhealthyHook {
  readonly name: string
  /** As in its report, or `old version`: it works, but its newest files are not in use. */
  readonly state: string
  readonly reason: string
}

/** What `hermes status` says of hooks: nothing of those that work, nor of those that are switched off in their manifest. */
export function unhealthyHooks(reports: readonly HookStatus[]): UnhealthyHook[] {
  return reports.flatMap(({ name, state, reason, problem }) => {
    if (state !== 'ready' && state !== 'disabled') return [{ name, state, reason }]
    return problem === '' ? [] : [{ name, state: 'old version', reason: problem }]
  })
}
