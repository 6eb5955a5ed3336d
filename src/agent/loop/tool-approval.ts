/**
 * Asking a person whether a tool may run, as the loop sees it; `gateway.ts` joins it with the room that asks.
 */
import type { ToolInfo } from '../agent-hooks.ts'
import type { JsonObject } from '../models/provider.ts'

export interface ToolApprovalRequest {
  readonly info: ToolInfo
  /** The arguments it would run with. */
  readonly args: JsonObject
  /** Why it is asked; '' when the plugin gave no reason. */
  readonly message: string
  /** What an answer that is kept holds for. */
  readonly ruleKey: string
}

/** `deny` tells the model why. Rejects with the signal's reason when it aborts. */
export type ApproveTool = (
  request: ToolApprovalRequest,
  signal: AbortSignal,
) => Promise<'allow' | { readonly deny: string }>

/** For a gateway that has no way to ask. */
export const denyAll: ApproveTool = async ({ info: facts, message }) => ({
  deny: `A plugin wants a person to allow ${facts.toolName} first${reasonSuffix(message)}, and nobody can be asked here. It was not run.`,
})

/** Nobody watches a background task: a question would wait for ever. */
export function unattendedDenial({ info: facts, message }: ToolApprovalRequest): string {
  return `A plugin wants a person to allow ${facts.toolName} first${reasonSuffix(message)}, and nobody watches a background task. It was not run.`
}

function reasonSuffix(message: string): string {
  return message === '' ? '' : ` (${message})`
}
