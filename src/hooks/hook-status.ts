/**
 * The status of a hook, as `hermes hooks list` and the API show it.
 */
import type { HookCounts } from './health.ts'
import type { ListenerState } from './listener.ts'

export interface HookStatus extends HookCounts {
  readonly name: string
  /** `folder`: a directory with HOOK.yaml and a handler. The others are defined in config.yaml. */
  readonly kind: 'folder' | 'command' | 'webhook'
  readonly description: string
  /** The events as written in the manifest or the configuration. */
  readonly events: readonly string[]
  /** `failing`: the last calls of a check failed. `not-loaded`: the last load failed. `disabled`: by its manifest. `invalid`: its files are invalid. `not-accepted`: no user has accepted its program. */
  readonly state: ListenerState | 'disabled' | 'invalid' | 'not-accepted'
  /** Why the hook is not `ready`; '' if it is. */
  readonly reason: string
  /** Why the newest version is not active; '' if it is. */
  readonly problem: string
  /** Number of queued events. */
  readonly waiting: number
  /** `typescript`, `javascript` or `python`; '' without a handler. */
  readonly language: string
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

/** A hook that does not work as configured. */
export interface UnhealthyHook {
  readonly name: string
  /** The state of `HookStatus`, or `old version` if the newest version is not active. */
  readonly state: string
  readonly reason: string
}

/** The hooks that `hermes status` shows: neither hooks that work nor hooks that are disabled in their manifest. */
export function unhealthyHooks(statuses: readonly HookStatus[]): UnhealthyHook[] {
  return statuses.flatMap(({ name, state, reason, problem }) => {
    if (state !== 'ready' && state !== 'disabled') return [{ name, state, reason }]
    return problem === '' ? [] : [{ name, state: 'old version', reason: problem }]
  })
}
