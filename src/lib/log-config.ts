/**
 * The configuration of the log.
 */
import { z } from 'zod'

export const logConfig = {
  log: z
    .object({
      level: z
        .enum(['debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('Minimum level of the lines that are written.'),
    })
    .prefault({}),
} as const
