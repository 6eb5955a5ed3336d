/**
 * The outbox's part of the configuration. Durations are seconds.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const outboxConfig = {
  outbox: z
    .object({
      max_tries: z
        .int()
        .min(1)
        .max(1_000)
        .default(12)
        .describe('How often a reply is tried before it waits for a person.'),
      max_backoff: z.number().positive().default(300).describe('Seconds between two tries, at most.'),
      max_attachment_mb: z
        .number()
        .positive()
        .max(4_000)
        .default(50)
        .describe('Files larger than this are not sent; a line in the chat says so.'),
    })
    .prefault({}),
  streaming: z
    .object({
      enabled: z.boolean().default(true).describe('Shows replies while they are written, where the platform can edit.'),
      mode: z
        .enum(['auto', 'draft', 'edit', 'off'])
        .default('auto')
        .describe('`off` switches streaming off; the others mean the way that the platform has.'),
      transport: z.enum(['auto', 'draft', 'edit', 'off']).default('auto').describe('As `mode`.'),
      edit_interval: z.number().min(0).default(0.8).describe('Seconds between two edits of a growing reply.'),
      buffer_threshold: z
        .int()
        .min(1)
        .default(24)
        .describe('Characters that must be there before a reply is first shown.'),
      cursor: z.string().default(' ▉').describe('Shown at the end of a reply that still grows.'),
    })
    .prefault({}),
} as const

export type OutboxConfig = ConfigOf<typeof outboxConfig>
