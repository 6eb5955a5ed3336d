/**
 * The contract of a tool: a function the model may call.
 */
import type { z } from 'zod'
import type { Logger } from '../../lib/log.ts'
import type { Environment } from '../environments/environment.ts'
import type { ProcessTable } from '../environments/process-table.ts'
import type { JsonObject } from '../models/provider.ts'

/**
 * `pure`: reads only; run again after a crash. `idempotent`: running twice equals running once.
 * `effect`: never run twice; after a crash its outcome is reported as unknown.
 */
export type ToolMode = 'pure' | 'idempotent' | 'effect'

export interface ToolContext {
  readonly sessionId: string
  readonly turnId: string
  readonly callId: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** Where commands run and relative paths start. */
  readonly environment: Environment
  readonly processes: ProcessTable
  /** The agent's own list of steps; the tool that owns it replaces it whole. */
  readonly todos: TodoStore
  readonly limits: ToolLimits
  /** Lets sub-agents work; absent where there can be none. */
  readonly delegate?: Delegate
}

/**
 * Runs all of them at the same time; the reports come in the order of the tasks. Rejects with the signal's reason when it
 * aborts, which ends every one of them.
 */
export type Delegate = (tasks: readonly SubagentTask[], signal: AbortSignal) => Promise<readonly SubagentResult[]>

export interface SubagentTask {
  readonly goal: string
  /** '' for none. */
  readonly context: string
}

/** `failed`: it came to no end of its own, or said nothing. `error`: it broke off, and the summary says why. */
export interface SubagentResult {
  readonly status: 'completed' | 'failed' | 'interrupted' | 'error'
  readonly summary: string
}

export interface ToolLimits {
  /** A longer result is cut in the middle, with a line that says so. */
  readonly maxResultChars: number
}

export interface TodoItem {
  readonly id: string
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed' | 'cancelled'
}

export interface TodoStore {
  read(): readonly TodoItem[]
  write(items: readonly TodoItem[]): void
}

export interface ToolDefinition<Schema extends z.ZodType = z.ZodType> {
  readonly name: string
  /** The set it is switched on and off with: `terminal`, `file`, `todo` … */
  readonly toolset: string
  readonly description: string
  /** Parsed arguments reach `run` typed. Unknown keys are dropped with a warning, never refused. */
  readonly parameters: Schema
  /** What the model is shown of the arguments; made from `parameters` if left out. */
  readonly jsonSchema?: JsonObject
  readonly mode: ToolMode | ((args: z.output<Schema>) => ToolMode)
  /** Whether the tool can work here (a program is installed, a key is set). False hides it from the model. */
  check?(): boolean | Promise<boolean>
  /** One short line for people who watch: `ls -la`, `README.md`. Without it only the name is shown. */
  label?(args: z.output<Schema>): string
  /**
   * Does the work and returns a JSON string. May throw: the model then sees `{"error": …}` (at most 2,048 characters).
   * Must end soon after `context.signal` aborts.
   */
  run(args: z.output<Schema>, context: ToolContext): Promise<string>
}

/** Types a tool; each file of `tools/` exports one as `default`. */
export function defineTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): ToolDefinition<Schema> {
  return definition
}
