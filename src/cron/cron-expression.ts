/**
 * Cron expressions with time zones and daylight saving. croner reads them. Imported with the first job that has one.
 */
import { Cron, CronPattern } from 'croner'
import { WallClock } from './wall-clock.ts'

export type NextCronRun =
  /** ms since 1970; undefined when no run follows. */
  { readonly ok: true; readonly at: number | undefined } | { readonly ok: false; readonly problem: string }

export type CronTimes =
  /** `next`: the next run strictly after a time. Both are ms since 1970; undefined when no run follows. */
  | { readonly ok: true; next(after: number): number | undefined }
  /** A clause for people. */
  | { readonly ok: false; readonly problem: string }

const mode = '5-or-6-parts'

/**
 * The runs of an expression. One that names hours runs once for each time on the clock: at the first moment at which the clock
 * shows it, or has skipped it. One for every hour means a rhythm: it runs whenever the clock shows its times. Never throws.
 */
export function cronTimes(expr: string, timeZone: string): CronTimes {
  const pattern = patternOf(expr)
  if (pattern === undefined) return { ok: false, problem: problemOf(expr) }
  const clock = clockOf(timeZone)
  if (clock === undefined) return { ok: false, problem: `there is no time zone "${timeZone}"` }
  if (pattern.hour.every(Boolean)) {
    const cron = new Cron(expr, { timezone: timeZone, paused: true, mode })
    return { ok: true, next: (after) => cron.nextRun(new Date(after))?.getTime() }
  }
  const cron = new Cron(expr, { timezone: 'UTC', paused: true, mode })
  return {
    ok: true,
    next(after) {
      const time = cron.nextRun(new Date(clock.latestShown(after)))
      return time === null ? undefined : clock.firstShowing(time.getTime())
    },
  }
}

/** The next run strictly after a time. Never throws. */
export function nextCronRun(expr: string, after: number, timeZone: string): NextCronRun {
  const times = cronTimes(expr, timeZone)
  return times.ok ? { ok: true, at: times.next(after) } : times
}

/** Milliseconds between the two runs that follow a time; undefined when there are less than two. Never throws. */
export function cronPeriod(expr: string, after: number, timeZone: string): number | undefined {
  const times = cronTimes(expr, timeZone)
  const first = times.ok ? times.next(after) : undefined
  const second = times.ok && first !== undefined ? times.next(first) : undefined
  return first === undefined || second === undefined ? undefined : second - first
}

function patternOf(expr: string): CronPattern | undefined {
  try {
    return new CronPattern(expr, 'UTC', { mode })
  } catch {
    // The constructor throws nothing but that the expression cannot be read; `problemOf` says why.
    return undefined
  }
}

function clockOf(timeZone: string): WallClock | undefined {
  try {
    return new WallClock(timeZone)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const fieldNames = [
  'second (0-59)',
  'minute (0-59)',
  'hour (0-23)',
  'day of the month (1-31)',
  'month (1-12 or jan-dec)',
  'day of the week (0-7 or sun-sat)',
] as const

/** Names the first field that cannot be read by itself. */
function problemOf(expr: string): string {
  const fields = expr.trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6)
    return `a cron expression has five or six fields, and this one has ${fields.length}`
  const wrong = fields.findIndex(
    (field, index) => patternOf(fields.map((_, i) => (i === index ? field : '*')).join(' ')) === undefined,
  )
  const name = fieldNames[wrong + fieldNames.length - fields.length]
  return wrong === -1 || name === undefined
    ? 'its fields cannot be read together'
    : `the ${name} cannot be "${fields[wrong]}"`
}
