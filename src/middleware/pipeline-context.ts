/**
 * The services that the stages of the pipeline share.
 */
import type { CallsContext } from './calls.ts'
import type { EventPublisher } from './event-publisher.ts'
import type { FailureReporter } from './failures.ts'

export interface PipelineContext extends CallsContext {
  readonly failures: FailureReporter
  readonly publisher: EventPublisher
}
