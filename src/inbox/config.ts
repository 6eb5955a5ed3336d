/**
 * The section `inbox` of the configuration.
 */
import { z } from 'zod'

export const inboxConfig = {
  inbox: z
    .object({
      max_message_kb: z
        .int()
        .min(1)
        .default(1_024)
        .describe('The size limit of an accepted message, in kB, including its text and metadata.'),
    })
    .prefault({}),
} as const
