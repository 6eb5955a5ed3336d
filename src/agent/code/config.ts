/**
 * The configuration keys of scripts (`execute_code`, contract S9).
 */
import { z } from 'zod'

export const codeConfig = {
  code_execution: z
    .object({
      timeout: z
        .number()
        .positive()
        .max(3_600)
        .default(300)
        .describe('Limit of a script of `execute_code`, in seconds.'),
      max_tool_calls: z.int().min(1).max(1_000).default(50).describe('Calls of tools that a script may make.'),
    })
    .prefault({}),
} as const
