/**
 * Cron expressions with time zones and daylight saving, by croner. Imported with the first job that has one.
 */
import { Cron } from 'croner'
import { messageOf } from '../lib/errors.ts'

export type NextCronRun =
  /** ms since 1970; undefined when no run follows. */
  { readonly ok: true; readonly at: number | undefined } | { readonly ok: false; readonly problem: string }

/**
 * The next run strictly after a time. Clocks that are set forward over a fixed time let it run when they have been; a time
 * that clocks show twice runs once. Never throws.
 */
export function nextCronRun(expr: string, after: number, timeZone: string): NextCronRun {
  try {
    const next = new Cron(expr, { timezone: timeZone, paused: true, mode: '5-or-6-parts' }).nextRun(new Date(after))
    return { ok: true, at: next?.getTime() }
  } catch (error) {
    return { ok: false, problem: messageOf(error) }
  }
}

/** Milliseconds between the two runs that follow a time; undefined when there are less than two. Never throws. */
export function cronPeriod(expr: string, after: number, timeZone: string): number | undefined {
  const first = nextCronRun(expr, after, timeZone)
  if (!first.ok || first.at === undefined) return undefined
  const second = nextCronRun(expr, first.at, timeZone)
  return second.ok && second.at !== undefined ? second.at - first.at : undefined
}
