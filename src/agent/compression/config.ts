/**
 * When a conversation is compressed and what of it stays as it is. The keys are those of the contract (§4.3).
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

export const compressionConfig = {
  context_length: z
    .int()
    .min(1_000)
    .default(128_000)
    .describe('Tokens the model can read at once. Conversations are compressed before they are longer.'),
  compression: z
    .object({
      enabled: z
        .boolean()
        .default(true)
        .describe('Replace the older part of a long conversation by a summary. Off, only /compress does it.'),
      threshold: z
        .number()
        .min(0.05)
        .max(0.95)
        .default(0.5)
        .describe('The share of `context_length` above which a conversation is compressed before its next turn.'),
      threshold_percent: z
        .number()
        .min(0.05)
        .max(95)
        .optional()
        .describe(
          'The older name of `threshold`, as a share or above 1 in percent; where both are set, this one counts.',
        ),
      target_ratio: z
        .number()
        .min(0.05)
        .max(0.8)
        .default(0.2)
        .describe('The share of the threshold that the newest messages fill, which stay as they are.'),
      protect_last_n: z
        .int()
        .min(1)
        .max(1_000)
        .default(20)
        .describe('So many of the newest messages stay as they are, unless they fill half of the threshold.'),
      protect_first_n: z
        .int()
        .min(1)
        .max(1_000)
        .default(3)
        .describe(
          'So many of the first messages stay as they are, the system prompt counted: 3 is the first exchange.',
        ),
      summary_model: z
        .string()
        .default('')
        .describe('The model that writes the summary, at the same provider; empty: the one that answers.'),
      in_place: z
        .boolean()
        .default(true)
        .describe(
          'The session keeps its id, and the messages that were summarised stay in the database. Only true is there yet: false is accepted and changes nothing, no second session is made.',
        ),
    })
    .prefault({}),
  auxiliary: z
    .object({
      compression: z
        .object({ model: z.string().default('').describe('As `compression.summary_model`, which it comes before.') })
        .prefault({}),
    })
    .prefault({}),
} as const

export type CompressionConfig = ConfigOf<typeof compressionConfig>

/** The share of the model's window above which a conversation is compressed. */
export function compressionThreshold({
  compression: { threshold, threshold_percent: older },
}: CompressionConfig): number {
  if (older === undefined) return threshold
  return Math.min(0.95, older > 1 ? older / 100 : older)
}
