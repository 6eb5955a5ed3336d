/**
 * The configuration section of approvals.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

function unattended(where: string) {
  return z
    .enum(['deny', 'approve'])
    .default('deny')
    .describe(
      `Commands that need approval ${where}, where no user can be asked: \`deny\` refuses, \`approve\` runs them.`,
    )
}

export const approvalsConfig = {
  approvals: z
    .object({
      timeout: z
        .number()
        .positive()
        .max(604_800)
        .default(300)
        .describe('Seconds that a question waits for its answer. An unanswered question counts as refused.'),
      mode: z
        .enum(['manual', 'smart', 'off'])
        .default('manual')
        .describe(
          'Commands that need approval: `manual` asks a user, `smart` asks a model first and a user unless it says yes, `off` runs them.',
        ),
      approver: z
        .enum(['requester', 'owner', 'other_owner'])
        .default('requester')
        .describe(
          'Who may allow a command: `requester` is the user who caused it, or an owner; `owner` is any owner; `other_owner` is an owner other than the user who caused it.',
        ),
      cron_mode: unattended('in scheduled turns'),
      single_query_mode: unattended('for `hermes chat --query`'),
      unattended_mode: unattended('in background tasks and for programs'),
      deny: z
        .array(z.string())
        .default([])
        .describe(
          'Shell commands that never run, as patterns: `*` matches any text and `?` one character; case is ignored.',
        ),
      destructive_slash_confirm: z
        .boolean()
        .default(false)
        .describe('Asks for confirmation before a command ends a conversation (`/new`, `/reset`).'),
      mcp_reload_confirm: z
        .boolean()
        .default(true)
        .describe('Asks for confirmation before `/reload-mcp` starts the MCP servers of all conversations again.'),
    })
    .prefault({}),
  command_allowlist: z
    .array(z.string())
    .default([])
    .describe(
      'Commands that need no approval, as they are written; `*` stands for plain words, for example `docker restart *`. `hermes approvals list` shows them.',
    ),
} as const

export type ApprovalsConfig = ConfigOf<typeof approvalsConfig>
