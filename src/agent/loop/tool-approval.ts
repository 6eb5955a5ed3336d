/**
 * The approval of tool calls by a user, as the loop requires it. `src/flows/approvals/approvals.ts` connects it with the approvals
 * module.
 */

import type { JsonObject } from '../../lib/json.ts'
import type { ToolInfo } from '../support/agent-hooks.ts'
import type { ApprovalNeed } from '../tools/tool.ts'

export interface ToolApprovalRequest {
  readonly info: ToolInfo
  /** The arguments with which the tool would run. */
  readonly args: JsonObject
  /** The arguments that a user has allowed, when a plugin changed them afterwards: `args` may then contain secrets. */
  readonly approvedArgs?: JsonObject
  /** At least one. */
  readonly needs: readonly ApprovalNeed[]
}

/** `deny` is the explanation for the model. Rejects with the signal's reason when it aborts. */
export type ApproveTool = (
  request: ToolApprovalRequest,
  signal: AbortSignal,
) => Promise<'allow' | { readonly deny: string }>

/** For a gateway without a way to ask a user. */
export const denyAll: ApproveTool = async ({ info, needs }) => {
  const reasons = needs.map(({ reason }) => reason).filter((reason) => reason !== '')
  const why = reasons.length === 0 ? '' : ` (${reasons.join(' ')})`
  return { deny: `A user must allow ${info.toolName} first${why}, and no user can be asked here. It was not run.` }
}
