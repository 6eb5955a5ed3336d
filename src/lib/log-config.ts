/**
 * The configuration of the log.
 */
import { z } from 'zod'
import { logLevels } from './log-files.ts'

export const logConfig = {
  log: z
    .object({
      level: z.enum(logLevels).default('info').describe('Minimum level of the lines that are written.'),
    })
    .prefault({}),
} as const
