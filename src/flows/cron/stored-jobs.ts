/**
 * The jobs of a home and the file that mirrors them, whether or not a gateway carries them out.
 */
import { join } from 'node:path'
import type { CronRuntime, JobMaker, JobRequest, Jobs } from '../../cron/contract.ts'
import { createJobs } from '../../cron/jobs.ts'
import { createJobsFile, type JobsFile } from '../../cron/jobs-file.ts'
import { systemRandom } from '../../lib/ids.ts'
import type { Runtime } from '../../store/runtime.ts'
import { checkJobRequest, type KnownNames } from './check-request.ts'

/**
 * Reads and writes nothing yet.
 * @param stopTurn ends a turn
 */
export function openStoredJobs(
  runtime: CronRuntime & Pick<Runtime, 'home'>,
  names: KnownNames,
  stopTurn: (seq: number) => Promise<unknown>,
): { readonly jobs: Jobs; readonly file: JobsFile } {
  const file = createJobsFile(join(runtime.home.cron, 'jobs.json'), runtime)
  const check = (request: JobRequest, maker: JobMaker) => checkJobRequest(runtime, names, request, maker)
  return { jobs: createJobs(runtime, { readFile: file.read, check, stopTurn }, systemRandom), file }
}
