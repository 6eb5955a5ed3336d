/**
 * The jobs of a home and the file that mirrors them, whether or not a gateway carries them out.
 */
import { join } from 'node:path'
import type { Jobs } from '../../cron/contract.ts'
import { createJobs } from '../../cron/jobs.ts'
import { createJobsFile, type JobsFile } from '../../cron/jobs-file.ts'
import type { ScheduleContext } from '../../cron/schedule.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { RandomBytes } from '../../lib/ids.ts'
import type { Logger } from '../../lib/log.ts'
import type { Authority } from '../../message/authority.ts'
import { cronPlatform } from '../../message/source.ts'
import type { Store } from '../../store/store.ts'
import { type CheckRequestDeps, checkJobRequest } from './check-request.ts'

export interface StoredJobsDeps extends Omit<CheckRequestDeps, 'scripts'> {
  readonly home: HomeLayout
  readonly store: Store
  readonly settings: () => Omit<ScheduleContext, 'now'>
  readonly clock: () => number
  readonly random: RandomBytes
  readonly log: Logger
  /** Ends a turn. */
  stopTurn(seq: number): Promise<unknown>
  /** A job has changed: the file is to follow. */
  changed(): void
}

/** A person who can write the file is the owner of the machine. */
const fileAuthority: Authority = { role: 'owner', platform: cronPlatform, chatType: 'dm' }

/** Reads and writes nothing yet. */
export function openStoredJobs(deps: StoredJobsDeps): { readonly jobs: Jobs; readonly file: JobsFile } {
  const { home, store, settings, clock, random, log, stopTurn, changed } = deps
  const path = join(home.cron, 'jobs.json')
  const timeZone = () => settings().timeZone
  const file = createJobsFile({ path, store, clock, timeZone, authority: fileAuthority, log })
  const jobs = createJobs({
    ...{ store, clock, random, settings, stopTurn, changed, readFile: file.read },
    check: (request, maker) => checkJobRequest({ ...deps, scripts: join(home.root, 'scripts') }, request, maker),
  })
  return { jobs, file }
}

/** `timezone` of the configuration, or that of the machine. */
export function timeZoneOf({ timezone }: { readonly timezone: string }): string {
  return timezone || new Intl.DateTimeFormat().resolvedOptions().timeZone
}
