/**
 * What the tools that change files need of the gateway, and the approval that their calls need in a conversation whose user sees
 * changes before they are made.
 */
import type { ApprovalNeed, BeforeChange, ToolContext } from '../tool.ts'

export interface EditPort {
  /** Absent where no checkpoints are taken. */
  readonly beforeChange?: BeforeChange | undefined
}

/** @param run does the call without taking a checkpoint */
export function approvalOfEdit<Args>(run: (args: Args, context: ToolContext) => Promise<string>) {
  return (args: Args, context: ToolContext): Promise<ApprovalNeed | undefined> | undefined => {
    const { edits, workspace } = context.turn.settings ?? {}
    if (edits === undefined || workspace === undefined) return undefined
    return import('./edit-approval.ts').then(({ editNeed }) =>
      editNeed(workspace, (unwritten) => run(args, unwritten), context),
    )
  }
}
