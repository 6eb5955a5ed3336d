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
      max_total_mb: z
        .number()
        .positive()
        .default(5_000)
        .describe('When the downloaded files take more, the oldest are removed, except those that are still needed.'),
    })
    .prefault({}),
} as const
