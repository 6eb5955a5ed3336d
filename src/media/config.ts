/**
 * The configuration of attachments.
 */
import { z } from 'zod'

export const mediaConfig = {
  media: z
    .object({
      max_mb: z
        .number()
        .positive()
        .default(20)
        .describe('The largest attachment that is downloaded. Platforms have limits of their own.'),
    })
    .prefault({}),
} as const
