/**
 * The part of the configuration about files that people send.
 */
import { z } from 'zod'

export const mediaConfig = {
  media: z
    .object({
      max_mb: z
        .number()
        .positive()
        .default(20)
        .describe('The largest file that is fetched when somebody sends one. Platforms have limits of their own.'),
    })
    .prefault({}),
} as const
