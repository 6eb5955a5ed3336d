/**
 * The approval of tool calls by a user, as the loop requires it. `src/flows/approvals.ts` connects it with the approvals
 * module.
 */
import type { ToolInfo } from '../agent-hooks.ts'
import type { JsonObject } from '../models/provider.ts'

export interface ToolApprovalRequest {
  readonly info: ToolInfo
  /** The arguments with which the tool would run. */
  readonly args: JsonObject
  /** The reason for the question; '' when the plugin gave none. */
  readonly message: string
  /** The key under which a permanent answer is stored. */
  readonly ruleKey: string
}

/** `deny` is the explanation for the model. Rejects with the signal's reason when it aborts. */
export type ApproveTool = (
  request: ToolApprovalRequest,
  signal: AbortSignal,
) => Promise<'allow' | { readonly deny: string }>

/** For a gateway without a way to ask a user. */
export const denyAll: ApproveTool = async ({ info, message }) => ({
  deny: `A plugin requires that a user approves ${info.toolName} first${reasonSuffix(message)}, and no user can be asked here. It was not run.`,
})

/** No user follows a background task, so a question would never be answered. */
export function unattendedDenial({ info, message }: ToolApprovalRequest): string {
  return `A plugin requires that a user approves ${info.toolName} first${reasonSuffix(message)}, and no user follows a background task. It was not run.`
}

function reasonSuffix(message: string): string {
  return message === '' ? '' : ` (${message})`
}
