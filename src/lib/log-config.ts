/**
 * The log's part of the configuration.
 */
import { z } from 'zod'

export const logConfig = {
  log: z
    .object({
      level: z
        .enum(['debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('How much is written: debug is the most.'),
      file: z.boolean().default(true).describe('Also write to logs/gateway.log of the home, 7 files of 10 MB at most.'),
    })
    .prefault({}),
} as const
