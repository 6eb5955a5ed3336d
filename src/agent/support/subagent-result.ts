/**
 * What a sub-agent is, and what it returns.
 */

/** `orchestrator`: it may start sub-agents itself, as far as `delegation.max_spawn_depth` permits. */
export type SubagentRole = 'leaf' | 'orchestrator'

/** `failed`: it did not finish or returned no text. `error`: it threw; the summary contains the reason. */
export interface SubagentResult {
  readonly status: 'completed' | 'failed' | 'interrupted' | 'error'
  readonly summary: string
  /** Whether the answer matches the schema of the task; absent without a schema. */
  readonly schemaValid?: boolean
  /** The answer as JSON; absent unless it matches. */
  readonly output?: unknown
  /** What it did not get of what was asked for. */
  readonly note?: string
}
