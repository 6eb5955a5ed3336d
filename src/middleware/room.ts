/**
 * What every step of a managed call needs: where it is, who takes part, the clock, the log.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../lib/log.ts'
import type { Culprits } from './culprits.ts'
import type { Failures } from './failures.ts'
import type { ScopeGround, ScopeNode } from './scope.ts'
import type { Teller } from './teller.ts'
import type { MicroClock } from './time.ts'

export interface Room {
  readonly storage: AsyncLocalStorage<ScopeNode>
  readonly ground: ScopeGround
  readonly failures: Failures
  readonly culprits: Culprits
  readonly teller: Teller
  readonly now: MicroClock
  readonly log: Logger
  /** For callers who gave no signal: never aborts and remembers no listener. */
  readonly never: AbortSignal
  /** How long something that was called off may take to end. */
  readonly graceMs: number
}
