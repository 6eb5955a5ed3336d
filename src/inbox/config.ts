/**
 * The inbox's part of the configuration.
 */
import { z } from 'zod'

export const inboxConfig = {
  inbox: z
    .object({
      max_message_kb: z.int().min(1).default(1_024).describe('The largest message that is accepted, text and all.'),
    })
    .prefault({}),
} as const
