/**
 * What is to be done with a job whose time has come or has passed (contract hermes.md §4.8, "Due rules").
 */
import { cronPeriod, type NextCronRun, nextCronRun } from './cron-expression.ts'
import type { Schedule } from './schedule.ts'

const minuteMs = 60_000
/** A job that runs once is not run when it is later than this. */
const onceGraceMs = 2 * minuteMs
const minGraceMs = 2 * minuteMs
const maxGraceMs = 120 * minuteMs

export type DueDecision =
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

export interface DueJob {
  readonly schedule: Schedule
  /** ms since 1970. */
  readonly nextRunAt: number
}

export interface DueContext {
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
