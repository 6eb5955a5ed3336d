/**
 * What every step of a managed call needs: where it is, who takes part, the clock, the log.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../lib/log.ts'
import type { ErrorOrigins } from './error-origin.ts'
import type { EventPublisher } from './event-publisher.ts'
import type { FailureReporter } from './failure-reporter.ts'
import type { MicroClock } from './micro-clock.ts'
import type { ScopeContext, ScopeNode } from './scope.ts'

export interface PipelineContext {
  readonly scopeStorage: AsyncLocalStorage<ScopeNode>
  readonly scopeContext: ScopeContext
  readonly failures: FailureReporter
  readonly errorOrigins: ErrorOrigins
  readonly publisher: EventPublisher
  readonly now: MicroClock
  readonly log: Logger
  /** For callers who gave no signal: never aborts and remembers no listener. */
  readonly neverSignal: AbortSignal
  /** How long something that was called off may take to end. */
  readonly graceMs: number
}
