/**
 * Pausing, resuming, running and stopping jobs.
 */
import type { Store } from '../store/store.ts'
import type { JobMaker, JobResult, Jobs } from './contract.ts'
import { findVisibleJob } from './find-job.ts'
import { timeOf, timeText } from './job.ts'
import type { StoredJob } from './job-store.ts'
import { minOwnMinutes } from './limits.ts'
import type { Schedule } from './schedule.ts'

/** Changes a job as it is stored now. Rejects `store/...`. */
export type ChangeJob = (
  name: string,
  maker: JobMaker,
  changeJob: (stored: StoredJob) => StoredJob | { readonly problem: string },
) => Promise<JobResult>

export interface StateChangesDeps {
  readonly store: Pick<Store, 'run'>
  readonly clock: () => number
  readonly change: ChangeJob
  /** ms since 1970; null when the schedule has no time any more. */
  firstTime(schedule: Schedule): Promise<number | null>
  /** Ends a turn. */
  stopTurn(seq: number): Promise<unknown>
}

export function createStateChanges({
  store,
  clock,
  change,
  firstTime,
  stopTurn,
}: StateChangesDeps): Pick<Jobs, 'pause' | 'resume' | 'run' | 'stop'> {
  return {
    pause: (name, reason, maker) =>
      change(name, maker, (stored) => ({
        ...stored,
        nextRunAt: null,
        job: { ...stored.job, enabled: false, state: 'paused', paused_at: timeText(clock()), paused_reason: reason },
      })),

    async resume(name, maker) {
      const found = await findVisibleJob(store, name, maker.authority)
      if ('problem' in found) return { ok: false, problem: found.problem }
      const nextRunAt = await firstTime(found.job.schedule)
      return await change(found.job.id, maker, (stored) =>
        nextRunAt === null
          ? { problem: 'Its time is over. Give it another schedule.' }
          : {
              ...stored,
              nextRunAt,
              job: { ...stored.job, enabled: true, state: 'scheduled', paused_at: null, paused_reason: '' },
            },
      )
    },

    run: (name, maker) =>
      change(name, maker, (stored) => {
        if (stored.run !== null) return { problem: `"${stored.job.name}" runs already.` }
        const now = clock()
        const last = timeOf(stored.job.last_run_at) ?? 0
        if (maker.authority.role !== 'owner' && now - last < minOwnMinutes * 60_000)
          return { problem: `"${stored.job.name}" has run within the last ${minOwnMinutes} minutes.` }
        return { ...stored, nextRunAt: now, job: { ...stored.job, manual_run_at: timeText(now) } }
      }),

    async stop(name, maker) {
      const found = await findVisibleJob(store, name, maker.authority)
      if ('problem' in found) return { ok: false, problem: found.problem }
      const seq = found.run?.seq ?? null
      if (seq === null) return { ok: false, problem: `"${found.job.name}" has no turn that could be stopped.` }
      await stopTurn(seq)
      return { ok: true, job: found.job }
    },
  }
}
