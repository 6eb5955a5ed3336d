/**
 * Pausing, resuming, running and stopping jobs.
 */

import type { Transaction } from '../store/query.ts'
import type { Runtime } from '../store/runtime.ts'
import type { JobEvent, JobMaker, JobResult, Jobs } from './contract.ts'
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
  /** In the same transaction, when it was changed. */
  also?: () => Transaction<void>,
) => Promise<JobResult>

/** Further ones are refused, so that their senders try again later. */
const maxEvents = 50
const maxEventChars = 8_000

export function createStateChanges(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  {
    change,
    firstTime,
    stopTurn,
  }: {
    readonly change: ChangeJob
    /** ms since 1970; null when the schedule has no time any more. */
    readonly firstTime: (schedule: Schedule) => Promise<number | null>
    readonly stopTurn: (seq: number) => Promise<unknown>
  },
): Pick<Jobs, 'pause' | 'resume' | 'run' | 'stop'> {
  function runNow(stored: StoredJob, { authority }: JobMaker): StoredJob | { readonly problem: string } {
    if (stored.run !== null) return { problem: `"${stored.job.name}" runs already.` }
    const now = clock()
    const last = timeOf(stored.job.last_run_at) ?? 0
    if (authority.role !== 'owner' && now - last < minOwnMinutes * 60_000)
      return { problem: `"${stored.job.name}" has run within the last ${minOwnMinutes} minutes.` }
    return { ...stored, nextRunAt: now, job: { ...stored.job, manual_run_at: timeText(now) } }
  }

  function addEvent(stored: StoredJob, { text }: JobEvent): StoredJob | { readonly problem: string } {
    const { job, run, nextRunAt } = stored
    const waiting = job.pending_events ?? []
    if (waiting.length >= maxEvents) return { problem: `"${job.name}" has ${maxEvents} events that wait.` }
    const now = clock()
    const pending_events = [...waiting, text.slice(0, maxEventChars).toWellFormed()]
    // The slot of a run is its name, so a run that goes on keeps the job waiting.
    if (run !== null) return { ...stored, job: { ...job, pending_events, pending_slot: timeText(now) } }
    return { ...stored, nextRunAt: Math.min(nextRunAt ?? now, now), job: { ...job, pending_events } }
  }

  return {
    pause: (name, reason, maker) =>
      change(name, maker, (stored) => ({
        ...stored,
        nextRunAt: null,
        job: { ...stored.job, enabled: false, state: 'paused', paused_at: timeText(clock()), paused_reason: reason },
      })),

    async resume(name, maker) {
      const job = await findVisibleJob(store, name, maker.authority)
      if ('problem' in job) return { ok: false, problem: job.problem }
      const nextRunAt = await firstTime(job.job.schedule)
      return await change(job.job.id, maker, (stored) =>
        nextRunAt === null
          ? { problem: 'Its time is over. Give it another schedule.' }
          : {
              ...stored,
              nextRunAt,
              job: { ...stored.job, enabled: true, state: 'scheduled', paused_at: null, paused_reason: '' },
            },
      )
    },

    run: (name, maker, event) =>
      change(
        name,
        maker,
        (stored) => (event === undefined ? runNow(stored, maker) : addEvent(stored, event)),
        event?.stored,
      ),

    async stop(name, maker) {
      const job = await findVisibleJob(store, name, maker.authority)
      if ('problem' in job) return { ok: false, problem: job.problem }
      const seq = job.run?.seq ?? null
      if (seq === null) return { ok: false, problem: `"${job.job.name}" has no turn that could be stopped.` }
      await stopTurn(seq)
      return { ok: true, job: job.job }
    },
  }
}
