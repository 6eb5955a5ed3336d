/**
 * The configuration keys of scheduled jobs (contract hermes.md §4.8).
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const cronConfig = {
  cron: z
    .object({
      bare_duration: z
        .enum(['once', 'every'])
        .default('once')
        .describe(
          'What a schedule such as `30m` means: `once` runs the job once in 30 minutes, `every` each 30 minutes.',
        ),
      catch_up_missed: z
        .boolean()
        .default(true)
        .describe(
          'Whether the times that a recurring job has missed lead to one run. Otherwise it waits for its next time.',
        ),
      output_retention: z
        .int()
        .default(50)
        .describe('How many results of a job are kept in `cron/output`. Below 1 all are kept.'),
      completed_retention_days: z
        .number()
        .min(0)
        .default(7)
        .describe('Days for which the record of a job that will not run again is kept.'),
      max_parallel_jobs: z
        .int()
        .min(1)
        .max(64)
        .default(4)
        .describe('How many jobs run at once. The messages of the others are stored, and wait.'),
      script_timeout: z
        .number()
        .positive()
        .max(86_400)
        .default(120)
        .describe('Limit of the script of a job, in seconds.'),
      turn_timeout: z
        .number()
        .min(0)
        .max(86_400)
        .default(600)
        .describe('Seconds without activity after which the turn of a job is ended. 0 for never.'),
      allow_agent_scheduling: z
        .boolean()
        .default(false)
        .describe('Whether a scheduled turn may schedule jobs itself (the tool `cronjob`).'),
    })
    .prefault({}),
} as const

export type CronConfig = ConfigOf<typeof cronConfig>
