/**
 * After the clock of the machine was set back: recurring jobs would wait until it has come so far again. Imported when that happens.
 */
import type { Store } from '../store/store.ts'
import { nextRun } from './due.ts'
import type { Job } from './job.ts'
import { findJob, readAllJobs, saveJob } from './job-store.ts'

/** A clock that was further ahead was wrong, and its times say nothing. */
const maxAheadMs = 25 * 3_600_000

/**
 * Gives jobs the earlier time that they have by the new clock, after the last time for which they have run. Where that is more than a day
 * ahead, times come again: a turn is then recognised by its key, and a script runs again. Rejects `store/...`.
 */
export async function reanchorJobs(store: Pick<Store, 'run'>, now: number, timeZone: string): Promise<number> {
  let moved = 0
  for (const { job, nextRunAt } of await readAllJobs(store)) {
    if (nextRunAt === null || job.schedule.kind === 'once') continue
    const after = Math.max(now, lastSlotOf(job, now))
    const from =
      job.schedule.kind === 'interval' ? lastTimeBefore(nextRunAt, job.schedule.minutes * 60_000, after) : after
    const next = nextRun(job.schedule, from, after, timeZone)
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

/** 0 without one that counts. */
function lastSlotOf({ last_dispatch }: Job, now: number): number {
  const slot = Date.parse(last_dispatch?.scheduled_at ?? '')
  return slot <= now + maxAheadMs ? slot : 0
}

/** In the rhythm of the interval. */
function lastTimeBefore(time: number, period: number, now: number): number {
  return time - Math.ceil((time - now) / period) * period
}
