/**
 * When a job runs, as people write it and as `cron/jobs.json` stores it (contract hermes.md §4.8).
 */
import { toOneLine } from '../lib/visible-text.ts'
import { parseWords, type WordsSchedule } from './schedule-words.ts'
import { dayMs, WallClock } from './wall-clock.ts'

/** The fields of `schedule` in `jobs.json`. `run_at` is ISO 8601 with a zone; `minutes` may be a fraction. */
export type Schedule =
  | { readonly kind: 'once'; readonly run_at: string; readonly display: string }
  | { readonly kind: 'interval'; readonly minutes: number; readonly display: string }
  | { readonly kind: 'cron'; readonly expr: string; readonly display: string }

export interface ScheduleContext {
  /** ms since 1970. */
  readonly now: number
  /** IANA name. A time without a zone is a time there. */
  readonly timeZone: string
  /** What a bare duration such as `30m` means: `cron.bare_duration`. */
  readonly bareDuration: 'once' | 'every'
}

export type ParsedSchedule =
  | { readonly ok: true; readonly schedule: Schedule }
  /** A sentence for the person or the model. */
  | { readonly ok: false; readonly problem: string }

const minuteMs = 60_000
const minutesOf: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1_440, w: 10_080 }
/** One hundred years; a longer duration is a mistake, and its time might not be a date. */
const maxMinutes = 52_560_000

export const scheduleForms =
  'Write a duration (30m, in 2h), an interval (every 2h, every other day), a time (2027-01-31T09:00, tomorrow at 9am), days and a time (weekdays at 9am, monthly on the 1st at 9am), or a cron expression (0 9 * * 1-5).'

/** Reads a schedule as a person or the model writes it. Never throws. The expression of a cron schedule is checked too. */
export async function parseSchedule(text: string, context: ScheduleContext): Promise<ParsedSchedule> {
  const input = toOneLine(text)
  if (input === '') return { ok: false, problem: `The schedule is empty. ${scheduleForms}` }
  if (input.length > 200) return { ok: false, problem: `A schedule has at most 200 characters. ${scheduleForms}` }
  const words = input.toLowerCase()
  const duration = parseDurationWords(words, context.bareDuration)
  if (duration !== undefined) return duration.minutes > maxMinutes ? tooLong(input) : toTimed(duration, context.now)
  const time = parseTime(input, context)
  if (time !== undefined) return time
  if (isExpression(words)) return await checkExpression(input, input, context)
  const schedule = parseWords(words)
  if (schedule === undefined) return { ok: false, problem: `"${input}" is not a schedule. ${scheduleForms}` }
  return await toSchedule(schedule, input, context)
}

async function toSchedule(schedule: WordsSchedule, input: string, context: ScheduleContext): Promise<ParsedSchedule> {
  switch (schedule.kind) {
    case 'cron':
      return await checkExpression(schedule.expr, input, context)
    case 'once': {
      const clock = new WallClock(context.timeZone)
      const today = Math.floor(clock.shownAt(context.now) / dayMs) * dayMs
      return onceUnlessPast(clock.instantOf(today + schedule.minutes * minuteMs), input, context.now)
    }
    case 'problem':
      return { ok: false, problem: `"${input}" ${schedule.problem}` }
  }
}

interface Duration {
  readonly kind: 'once' | 'interval'
  readonly minutes: number
}

/** `30m`, `in 30 minutes`, `every 2h`, `every hour`, `every other day`. */
function parseDurationWords(words: string, bareDuration: ScheduleContext['bareDuration']): Duration | undefined {
  const match =
    /^(?:(?<lead>in|every) )?(?<count>other(?= )|\d{1,9}(?:\.\d{1,3})?)? ?(?<unit>m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/.exec(
      words,
    )
  const { lead, count, unit = '' } = match?.groups ?? {}
  // A unit alone is a duration only behind `every`: `day` says nothing.
  if (match === null || ((count === undefined || count === 'other') && lead !== 'every')) return undefined
  const size = minutesOf[unit.slice(0, 1)] ?? 1
  const minutes = (count === 'other' ? 2 : Number(count ?? 1)) * size
  if (minutes <= 0) return undefined
  const isInterval = lead === 'every' || (lead === undefined && bareDuration === 'every')
  return { kind: isInterval ? 'interval' : 'once', minutes }
}

function toTimed({ kind, minutes }: Duration, now: number): ParsedSchedule {
  if (kind === 'interval') return { ok: true, schedule: { kind, minutes, display: `every ${formatMinutes(minutes)}` } }
  return { ok: true, schedule: onceAt(now + minutes * minuteMs) }
}

function onceUnlessPast(at: number, input: string, now: number): ParsedSchedule {
  if (at < now - minuteMs)
    return { ok: false, problem: `"${input}" is in the past; now it is ${new Date(now).toISOString()}.` }
  return { ok: true, schedule: onceAt(at) }
}

function onceAt(at: number): Schedule {
  const runAt = new Date(at).toISOString()
  return { kind: 'once', run_at: runAt, display: `once at ${runAt}` }
}

/** One line for people. */
export function describeSchedule(schedule: Schedule): string {
  if (schedule.display !== '') return schedule.display
  if (schedule.kind === 'once') return `once at ${schedule.run_at}`
  return schedule.kind === 'interval' ? `every ${formatMinutes(schedule.minutes)}` : schedule.expr
}

function formatMinutes(minutes: number): string {
  const unit = (['w', 'd', 'h'] as const).find((name) => minutes % (minutesOf[name] ?? 1) === 0)
  return unit === undefined ? `${minutes}m` : `${minutes / (minutesOf[unit] ?? 1)}${unit}`
}

function tooLong(input: string): ParsedSchedule {
  return { ok: false, problem: `"${input}" is longer than a hundred years.` }
}

const timePattern = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?))?(Z|[+-]\d{2}:?\d{2})?$/i

/** ISO 8601. Without a zone it is a time in `timeZone`. */
function parseTime(input: string, { now, timeZone }: ScheduleContext): ParsedSchedule | undefined {
  const [, day, clock = '00:00', zone] = timePattern.exec(input) ?? []
  if (day === undefined) return undefined
  const asUtc = Date.parse(`${day}T${clock}Z`)
  if (Number.isNaN(asUtc) || new Date(asUtc).toISOString().slice(0, 10) !== day)
    return { ok: false, problem: `"${input}" is not a date of the calendar.` }
  const at =
    zone === undefined ? new WallClock(timeZone).instantOf(asUtc) : Date.parse(`${day}T${clock}${withColon(zone)}`)
  if (Number.isNaN(at)) return { ok: false, problem: `"${input}" has a time zone that cannot be read.` }
  return onceUnlessPast(at, input, now)
}

function withColon(zone: string): string {
  return /^[+-]\d{4}$/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
}

/** Five or six fields of a cron expression, of which the first is no word, or a name such as `@daily`. */
function isExpression(words: string): boolean {
  if (/^@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)$/.test(words)) return true
  const fields = words.split(' ')
  const [first = ''] = fields
  if (fields.length !== 5 && fields.length !== 6) return false
  return /^[\d*?/,-]+$/.test(first) && fields.every((field) => /^[\d*?/,a-z#+-]+$/.test(field))
}

async function checkExpression(expr: string, input: string, context: ScheduleContext): Promise<ParsedSchedule> {
  const { nextCronRun } = await import('./cron-expression.ts')
  const next = nextCronRun(expr, context.now, context.timeZone)
  if (!next.ok) return { ok: false, problem: `"${input}" is not a schedule: ${next.problem}. ${scheduleForms}` }
  if (next.at === undefined) return { ok: false, problem: `"${input}" never comes.` }
  return { ok: true, schedule: { kind: 'cron', expr, display: input } }
}
