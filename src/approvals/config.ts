/**
 * The configuration section of approvals.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const approvalsConfig = {
  approvals: z
    .object({
      timeout: z
        .number()
        .positive()
        .max(604_800)
        .default(300)
        .describe('Seconds that a question waits for its answer. An unanswered question counts as refused.'),
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
    })
    .prefault({}),
} as const

export type ApprovalsConfig = ConfigOf<typeof approvalsConfig>
