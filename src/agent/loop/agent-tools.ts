/**
 * The tools of a turn, as the agent loop requires them. The registry in `tools/` implements this.
 */

import type { JsonObject } from '../../lib/json.ts'
import type { ToolCall, ToolMode } from '../../message/transcript.ts'
import type { ToolSchema } from '../models/provider.ts'
import type { ApprovalNeed, ToolContext, ToolFacts } from '../tools/tool.ts'

export interface AgentTools {
  /** Sorted by name, so that the bytes of the request are stable. */
  schemas(): readonly ToolSchema[]
  /** Parses the arguments of a call: the model's JSON text, or the object of a plugin. Never throws. */
  prepare(call: { readonly name: string; readonly arguments: string | JsonObject }): PreparedToolCall
  /** Whether these calls may run at the same time (contract §4.2). */
  canRunInParallel(calls: readonly ToolCall[]): boolean
  /** What is known of a tool; undefined for an unknown tool. */
  factsOf(name: string): ToolFacts | undefined
  /** Redacts and truncates a result that did not come from the tool itself. */
  sanitizeForModel(result: string): string
}

export type PreparedToolCall =
  | {
      readonly kind: 'ready'
      readonly mode: ToolMode
      readonly label: string
      /** One line for the user about a result of this call. Never throws. */
      summarize(result: string): string
      /** The arguments as plain JSON values. */
      readonly jsonArguments: JsonObject
      /** Why a user must allow the call first; absent for tools that never ask. */
      approval?(context: ToolContext): ApprovalNeed | Promise<ApprovalNeed | undefined> | undefined
      run(context: ToolContext): Promise<string>
    }
  /** `error` is for the model: what was expected and what was found. */
  | { readonly kind: 'invalid'; readonly error: string }
  /** The call is beyond what the person who caused the turn may cause. */
  | { readonly kind: 'refused'; readonly code: 'not_allowed_for_role'; readonly error: string }
