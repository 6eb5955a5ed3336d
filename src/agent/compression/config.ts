/**
 * The configuration keys of compression, as defined in the contract (§4.3).
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

export const compressionConfig = {
  context_length: z
    .int()
    .min(1_000)
    .default(128_000)
    .describe('The context length of the model in tokens. Conversations are compressed before they exceed it.'),
  compression: z
    .object({
      enabled: z
        .boolean()
        .default(true)
        .describe('Replaces the older part of a long conversation by a summary. When false, only /compress does so.'),
      threshold: z
        .number()
        .min(0.05)
        .max(0.95)
        .default(0.5)
        .describe(
          'The share of `context_length` above which a conversation is compressed, before a turn and between the calls of tools.',
        ),
      threshold_percent: z
        .number()
        .min(0.05)
        .max(95)
        .optional()
        .describe(
          'The former name of `threshold`, as a share, or in percent above 1; takes precedence when both are set.',
        ),
      threshold_tokens: z
        .int()
        .min(500)
        .optional()
        .describe('A limit in tokens beside `threshold`: the lower one counts.'),
      tail_mode: z
        .enum(['legacy', 'lean'])
        .default('legacy')
        .describe(
          'How much is kept for the newest messages: `legacy`: `target_ratio` of the threshold; `lean`: 2.5 % of `context_length`, between 10,000 and 25,000 tokens and at most a fifth of it.',
        ),
      min_tail_user_messages: z
        .int()
        .min(1)
        .max(100)
        .default(1)
        .describe(
          'The number of the newest messages of people that are kept, unless they exceed half of the threshold.',
        ),
      target_ratio: z
        .number()
        .min(0.05)
        .max(0.8)
        .default(0.2)
        .describe('The share of the threshold that is kept for the newest messages.'),
      protect_last_n: z
        .int()
        .min(1)
        .max(1_000)
        .default(20)
        .describe('Number of the newest messages that are kept, unless they exceed half of the threshold.'),
      protect_first_n: z
        .int()
        .min(1)
        .max(1_000)
        .default(3)
        .describe('Number of the first messages that are kept, including the system prompt: 3 is the first exchange.'),
      summary_model: z
        .string()
        .default('')
        .describe('The former name of `auxiliary.compression.model`, which takes precedence.'),
      summary_provider: z.string().default('').describe('The former name of `auxiliary.compression.provider`.'),
      summary_base_url: z.string().default('').describe('The former name of `auxiliary.compression.base_url`.'),
      in_place: z
        .boolean()
        .default(true)
        .describe(
          'The session keeps its id. When false, a summary before a turn begins a new session with a new system prompt, and the title gets a number; within a turn, the session stays.',
        ),
    })
    .prefault({}),
} as const

export type CompressionConfig = ConfigOf<typeof compressionConfig>
