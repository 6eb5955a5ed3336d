/**
 * What the handling of messages for busy conversations needs of the gateway.
 */
import type { Engine } from '../../engine/engine.ts'
import type { EventResults } from '../../inbox/inbox.ts'
import type { Logger } from '../../lib/log.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { RunningTurns } from '../../sessions/running-turns.ts'
import type { Store } from '../../store/store.ts'
import type { DisplayConfig } from '../turn/config.ts'

export interface BusyDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly engine: Pick<Engine, 'wake' | 'wakeLater'>
  readonly running: Pick<RunningTurns, 'interrupt' | 'steer' | 'isProtected'>
  readonly turnResults: Pick<EventResults, 'publish'>
  readonly settings: () => DisplayConfig
  /** The gateway stops: nothing begins any more. */
  readonly stopping: AbortSignal
  readonly clock: () => number
  readonly log: Logger
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}
