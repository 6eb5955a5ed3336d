/**
 * The configuration keys of checkpoints, with the names and defaults of Hermes Agent.
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

export const checkpointsConfig = {
  checkpoints: z
    .object({
      enabled: z
        .boolean()
        .default(false)
        .describe(
          'Whether the files of a folder are kept before the agent changes them, so that `/rollback` can restore them.',
        ),
      max_snapshots: z
        .int()
        .min(1)
        .max(1_000)
        .default(20)
        .describe('Checkpoints kept for each folder and conversation; the oldest is dropped first.'),
      max_total_size_mb: z
        .number()
        .min(0)
        .default(500)
        .describe(
          'All checkpoints together take at most so much space, MB; 0 means no limit. Enforced when old ones are removed.',
        ),
      max_file_size_mb: z.number().positive().default(10).describe('Larger files are left out, MB.'),
      auto_prune: z.boolean().default(true).describe('Whether old checkpoints are removed without a command.'),
      retention_days: z
        .number()
        .positive()
        .default(7)
        .describe(
          'Checkpoints of a conversation are removed when it has changed nothing in their folder for so many days.',
        ),
      min_interval_hours: z
        .number()
        .min(0)
        .default(24)
        .describe('The time between two removals of old checkpoints, hours.'),
    })
    .prefault({}),
} as const

export type CheckpointsConfig = ConfigOf<typeof checkpointsConfig>
