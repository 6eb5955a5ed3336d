/**
 * The sections `outbox` and `streaming` of the configuration. Durations are seconds.
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
        .describe('How often the delivery of a reply is tried before it becomes a dead letter.'),
      max_backoff: z.number().positive().default(300).describe('The longest delay between two tries, in seconds.'),
      max_attachment_mb: z
        .number()
        .positive()
        .max(4_000)
        .default(50)
        .describe('Larger files are not sent; the chat gets a line that says so.'),
    })
    .prefault({}),
  streaming: z
    .object({
      enabled: z
        .boolean()
        .default(true)
        .describe('Shows replies while they are written, on platforms that can edit messages.'),
      transport: z
        .enum(['auto', 'draft', 'edit', 'off'])
        .default('auto')
        .describe(
          '`auto` and `draft` use the native drafts of a platform where it has them, and edit a message elsewhere. `edit` always edits a message. `off` disables streaming.',
        ),
      mode: z
        .enum(['auto', 'draft', 'edit', 'off'])
        .optional()
        .describe('Another name of `transport`, which it overrides. It takes precedence over `enabled: false`.'),
      edit_interval: z
        .number()
        .min(0)
        .default(0.8)
        .describe('Seconds between two edits of a streamed reply. Platforms with lower limits use a longer interval.'),
      buffer_threshold: z
        .int()
        .min(1)
        .default(1)
        .describe(
          'Minimum number of characters before a streamed reply is first shown in a chat. By default the first characters are shown as soon as the text can no longer become `[SILENT]` or the address of a file. Pages and clients of the API ignore it. It starts no edit before `edit_interval` has passed, because platforms limit the rate of edits.',
        ),
      fresh_final_after_seconds: z
        .number()
        .min(0)
        .default(0)
        .describe(
          'A reply that has been streamed for this long is sent as a new message, so that the platform announces it, and the streamed message is removed. Only on platforms that can remove messages. 0: never.',
        ),
      cursor: z
        .string()
        .default(' ▉')
        .describe(
          'Shown at the end of a streamed reply that is not complete. With another one than the default, an unfinished message may stay on Discord beside the reply after a lost response.',
        ),
    })
    .prefault({}),
} as const

export type OutboxConfig = ConfigOf<typeof outboxConfig>
