/**
 * Asks the running daemon about scheduled jobs.
 */
import type { z } from 'zod'
import { callRoute } from '../../api/client.ts'
import { changeJobs } from '../../api/routes/jobs.ts'
import type { jobsResponse } from '../../api/shapes/jobs.ts'
import { type Job, parseJob } from '../../cron/job.ts'
import type { jobActionSchema } from '../../flows/cron/job-actions.ts'
import { HermesError } from '../../lib/errors.ts'
import type { CliContext } from '../kit/context.ts'
import { findRunningDaemon } from '../kit/daemon.ts'
import { readSettings } from '../kit/settings.ts'

/** The values of an action of the tool `cronjob`. */
export type CronRequest = z.input<typeof jobActionSchema>

/** Undefined when no daemon runs. Throws the errors of the daemon. */
export async function askDaemon(context: CliContext, request: CronRequest): Promise<readonly Job[] | undefined> {
  const { token } = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token })
  return daemon === undefined ? undefined : parseJobs(await callRoute(daemon, changeJobs, { body: request }))
}

/** The jobs of a response of `/api/jobs`. Throws `cli/incompatible-response`. */
export function parseJobs({ jobs }: z.output<typeof jobsResponse>): readonly Job[] {
  return jobs.map((record) => {
    const parsed = parseJob(record)
    if (!parsed.ok) throw new HermesError('cli/incompatible-response', parsed.problem)
    // Whether it runs is shown, and not a part of the stored record.
    return record.state === 'running' ? { ...parsed.job, state: 'running' } : parsed.job
  })
}
