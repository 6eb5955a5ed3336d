/**
 * What is to be done with a job whose time has come or has passed (contract hermes.md §4.8, "Due rules"), and the transaction that does
 * it: the next time is set before anything runs, so that a crash repeats no run. Imported when the first job is due.
 */
import type { Transaction } from '../store/query.ts'
import { cronPeriod, type NextCronRun, nextCronRun } from './cron-expression.ts'
import { type Job, timeText } from './job.ts'
import { findJob, type StoredJob, saveJob } from './job-store.ts'
import type { Schedule } from './schedule.ts'

const minuteMs = 60_000
/** A job that runs once is not run when it is later than this. */
const onceGraceMs = 2 * minuteMs
const minGraceMs = 2 * minuteMs
const maxGraceMs = 120 * minuteMs

type DueDecision =
  | { readonly kind: 'wait' }
  /** `slot`: the time for which it runs; a second run for the same slot is the same run. `next`: null for none. */
  | {
      readonly kind: 'fire'
      readonly slot: number
      readonly how: 'on_time' | 'late' | 'catch_up'
      readonly next: number | null
    }
  /** Missed runs are left out; the job waits for the next one. */
  | { readonly kind: 'skip'; readonly next: number | null }
  /** A job that runs once was missed, and it is not run any more. */
  | { readonly kind: 'retire'; readonly lateMs: number }

interface DueJob {
  readonly schedule: Schedule
  /** ms since 1970. */
  readonly nextRunAt: number
}

interface DueContext {
  readonly now: number
  readonly timeZone: string
  /** `cron.catch_up_missed`: whether missed runs of a recurring job lead to one run. */
  readonly catchUp: boolean
}

/** Decides by the clock alone, so that two gateways decide the same. */
export function decideDue({ schedule, nextRunAt }: DueJob, { now, timeZone, catchUp }: DueContext): DueDecision {
  if (nextRunAt > now) return { kind: 'wait' }
  const lateMs = now - nextRunAt
  if (schedule.kind === 'once') {
    if (lateMs > onceGraceMs) return { kind: 'retire', lateMs }
    return { kind: 'fire', slot: nextRunAt, how: lateMs > minuteMs ? 'late' : 'on_time', next: null }
  }
  const following = nextRun(schedule, nextRunAt, now, timeZone)
  const next = following.ok ? (following.at ?? null) : null
  if (lateMs <= graceOf(schedule, nextRunAt, timeZone))
    return { kind: 'fire', slot: nextRunAt, how: lateMs > minuteMs ? 'late' : 'on_time', next }
  if (!catchUp) return { kind: 'skip', next }
  return { kind: 'fire', slot: nextRunAt, how: 'catch_up', next }
}

/** Half of the period, between two minutes and two hours. */
function graceOf(schedule: Schedule, at: number, timeZone: string): number {
  const period =
    schedule.kind === 'interval'
      ? schedule.minutes * minuteMs
      : schedule.kind === 'cron'
        ? (cronPeriod(schedule.expr, at - 1, timeZone) ?? 0)
        : 0
  return Math.min(maxGraceMs, Math.max(minGraceMs, period / 2))
}

/**
 * The first run after `now` of a job that was to run at `from`. An interval keeps its rhythm: it is counted from `from`, not
 * from the moment at which the job was noticed.
 */
export function nextRun(schedule: Schedule, from: number, now: number, timeZone: string): NextCronRun {
  switch (schedule.kind) {
    case 'once': {
      const at = Date.parse(schedule.run_at)
      if (Number.isNaN(at)) return { ok: false, problem: 'its time cannot be read' }
      return { ok: true, at: at > now ? at : undefined }
    }
    case 'interval': {
      const period = schedule.minutes * minuteMs
      if (!(period > 0)) return { ok: false, problem: 'its interval cannot be read' }
      const missed = Math.max(0, Math.floor((now - from) / period))
      return { ok: true, at: from + (missed + 1) * period }
    }
    case 'cron':
      return nextCronRun(schedule.expr, now, timeZone)
  }
}

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
