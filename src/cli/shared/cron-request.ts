/**
 * Asks the running daemon about scheduled jobs.
 */
import { z } from 'zod'
import { type Job, parseJob } from '../../cron/job.ts'
import { HermesError } from '../../lib/errors.ts'
import type { CliContext } from '../kit/context.ts'
import { findRunningDaemon } from '../kit/daemon.ts'
import { readSettings } from '../kit/settings.ts'

/** The values of an action of the tool `cronjob`. */
export type CronRequest = Readonly<Record<string, unknown>> & { readonly action: string }

const responseSchema = z.looseObject({ jobs: z.array(z.unknown()) })

/** Undefined when no daemon runs. Throws the errors of the daemon. */
export async function askDaemon(context: CliContext, request: CronRequest): Promise<readonly Job[] | undefined> {
  const { token } = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token, fetch })
  return daemon === undefined ? undefined : parseJobs(await daemon.request('/api/jobs', request))
}

/** The jobs of a response of `POST /api/jobs`. Throws `cli/incompatible-response`. */
export function parseJobs(body: unknown): readonly Job[] {
  const response = responseSchema.safeParse(body)
  if (!response.success) throw new HermesError('cli/incompatible-response', '', { cause: response.error })
  return response.data.jobs.map((record) => {
    const parsed = parseJob(record)
    if (!parsed.ok) throw new HermesError('cli/incompatible-response', parsed.problem)
    // Whether it runs is shown, and not a part of the stored record.
    return isRunningRecord(record) ? { ...parsed.job, state: 'running' } : parsed.job
  })
}

function isRunningRecord(record: unknown): boolean {
  return typeof record === 'object' && record !== null && 'state' in record && record.state === 'running'
}
