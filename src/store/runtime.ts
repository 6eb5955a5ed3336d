/**
 * What nearly every part of a running gateway works with. The composition makes one; a part names in its signature what it uses
 * of it, and tests pass only that.
 */
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { Store } from './store.ts'

export interface Runtime {
  readonly home: HomeLayout
  readonly store: Store
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly log: Logger
  /** Aborts when the gateway begins to stop. */
  readonly stopping: AbortSignal
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}
