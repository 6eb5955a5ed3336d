/**
 * Claims a run of a job in one transaction: the next time is set before anything runs, so that a crash repeats no run. Imported
 * when the first job is due.
 */
import type { Transaction } from '../store/query.ts'
import { type DueContext, type DueDecision, decideDue } from './due.ts'
import { type Job, timeText } from './job.ts'
import { findJob, type StoredJob, saveJob } from './job-store.ts'

export type ClaimedRun =
  /** The run for `slot` may begin. */
  | { readonly kind: 'run'; readonly stored: StoredJob; readonly slot: number }
  /** A job that runs once was missed. */
  | { readonly kind: 'missed'; readonly stored: StoredJob; readonly lateMs: number }
  /** There is nothing to do now. */
  | { readonly kind: 'none' }

/**
 * A job runs once at a time: a time that comes during its run is kept, and the run begins when the present one has ended. Several
 * such times lead to one run.
 */
export function* claimRun(id: string, context: DueContext): Transaction<ClaimedRun> {
  const stored = yield* findJob(id)
  if (stored === undefined || stored.nextRunAt === null) return { kind: 'none' }
  const { job, nextRunAt, run } = stored
  const decision = decide(stored, nextRunAt, context)
  if (decision.kind === 'wait') return { kind: 'none' }
  if (decision.kind === 'retire') {
    const retired: StoredJob = { ...stored, job: missedJob(job, context.now), nextRunAt: null }
    yield* saveJob(retired)
    return { kind: 'missed', stored: retired, lateMs: decision.lateMs }
  }
  const ahead = scheduleNext(stored, decision)
  if (decision.kind === 'skip') {
    yield* saveJob(ahead)
    return { kind: 'none' }
  }
  if (run !== null) {
    yield* saveJob({ ...ahead, job: { ...ahead.job, pending_slot: timeText(decision.slot) } })
    return { kind: 'none' }
  }
  const claimed = begin(ahead, decision, nextRunAt, context.now)
  yield* saveJob(claimed)
  return { kind: 'run', stored: claimed, slot: decision.slot }
}

/** What an event has asked for is carried out, however late that is. */
function decide({ job }: StoredJob, nextRunAt: number, context: DueContext): DueDecision {
  if (job.pending_events === undefined) return decideDue({ schedule: job.schedule, nextRunAt }, context)
  const decision = decideDue({ schedule: job.schedule, nextRunAt }, { ...context, catchUp: true })
  return decision.kind === 'retire' ? { kind: 'fire', slot: nextRunAt, how: 'catch_up', next: null } : decision
}

type Ahead = Extract<DueDecision, { readonly kind: 'fire' | 'skip' }>

/** Without a next time, a recurring job has a schedule that cannot be computed; it stays enabled, and a person can repair it. */
function scheduleNext(stored: StoredJob, { next }: Ahead): StoredJob {
  const { job } = stored
  // A paused job that a person lets run stays paused.
  if (!job.enabled) return { ...stored, nextRunAt: null }
  if (next !== null || job.schedule.kind === 'once') return { ...stored, nextRunAt: next }
  const problem = 'the next time of its schedule cannot be computed'
  return { ...stored, nextRunAt: null, job: { ...job, state: 'error', last_error: problem } }
}

/** The run is counted before it begins, so that a job with `repeat.times` never runs more often than that. */
function begin(
  stored: StoredJob,
  { slot, how }: Extract<DueDecision, { readonly kind: 'fire' }>,
  scheduledAt: number,
  now: number,
): StoredJob {
  const { job } = stored
  const completed = job.repeat.completed + 1
  const isLast = job.repeat.times !== null && completed >= job.repeat.times
  const dispatch = {
    scheduled_at: new Date(scheduledAt).toISOString(),
    dispatched_at: new Date(now).toISOString(),
    lateness_seconds: Math.max(0, (now - scheduledAt) / 1_000),
    kind: how,
  }
  return {
    ...stored,
    nextRunAt: isLast ? null : stored.nextRunAt,
    run: { slot, seq: null, scriptStarted: false },
    job: {
      ...job,
      repeat: { ...job.repeat, completed },
      last_dispatch: dispatch,
      pending_slot: null,
      pending_events: undefined,
      run_events: job.pending_events,
    },
  }
}

function missedJob(job: Job, now: number): Job {
  return {
    ...job,
    enabled: false,
    state: 'completed',
    last_status: 'error',
    last_error: 'it was missed: the gateway did not run at its time',
    last_run_at: timeText(now),
  }
}
