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
    })
    .prefault({}),
} as const
