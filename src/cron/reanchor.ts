/**
 * After the clock of the machine was set back: recurring jobs would wait until it has come so far again. Imported when that happens.
 */
import type { Store } from '../store/store.ts'
import { nextRun } from './due.ts'
import { findJob, readAllJobs, saveJob } from './job-store.ts'

/** Gives jobs the earlier time that they have by the new clock. A time for which a job has run does not run again. Rejects `store/...`. */
export async function reanchorJobs(store: Pick<Store, 'run'>, now: number, timeZone: string): Promise<number> {
  let moved = 0
  for (const { job, nextRunAt } of await readAllJobs(store)) {
    if (nextRunAt === null || job.schedule.kind === 'once') continue
    const from = job.schedule.kind === 'interval' ? lastTimeBefore(nextRunAt, job.schedule.minutes * 60_000, now) : now
    const next = nextRun(job.schedule, from, now, timeZone)
    if (!next.ok || next.at === undefined || next.at >= nextRunAt) continue
    const { at } = next
    await store.run(function* () {
      const stored = yield* findJob(job.id)
      if (stored?.nextRunAt === nextRunAt) yield* saveJob({ ...stored, nextRunAt: at })
    })
    moved += 1
  }
  return moved
}

/** In the rhythm of the interval. */
function lastTimeBefore(time: number, period: number, now: number): number {
  return time - Math.ceil((time - now) / period) * period
}
