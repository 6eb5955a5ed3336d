/**
 * Where clocks are changed, an expression runs as the clock on the wall says. The expected times are found by looking at each minute.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cronTimes } from '../../src/cron/cron-expression.ts'
import { type LocalMinute, localMinutes } from '../cron/local-times.ts'

const minute = 60_000
const hour = 60 * minute

/** Zones, and moments at which their clocks are changed. Kolkata's never are. */
const zones: readonly (readonly [string, ...string[]])[] = [
  ['Europe/Berlin', '2027-03-28T01:00Z', '2027-10-31T01:00Z'],
  ['America/New_York', '2027-03-14T07:00Z', '2027-11-07T06:00Z'],
  // By half an hour.
  ['Australia/Lord_Howe', '2027-10-02T15:30Z', '2027-04-03T15:00Z'],
  // At midnight.
  ['America/Santiago', '2027-09-05T04:00Z', '2027-04-04T03:00Z'],
  ['Africa/Cairo', '2027-04-29T22:00Z', '2027-10-28T21:00Z'],
  // 45 minutes beside the full hour.
  ['Pacific/Chatham', '2027-09-25T14:00Z', '2027-04-03T14:00Z'],
  // By two hours.
  ['Antarctica/Troll', '2027-03-28T01:00Z', '2027-10-31T01:00Z'],
  ['Asia/Kolkata', '2027-03-28T01:00Z'],
]

/** A field as it is written, and what it admits. */
interface Field {
  readonly text: string
  readonly values: ReadonlySet<number>
}

const range = (from: number, to: number, step = 1): ReadonlySet<number> =>
  new Set(Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step))

/** @param to the highest value that is chosen; `max`: the highest that there is */
function field(to: number, max: number): fc.Arbitrary<Field> {
  const value = fc.nat({ max: to })
  return fc.oneof(
    fc.constant({ text: '*', values: range(0, max) }),
    fc.integer({ min: 2, max: to }).map((step) => ({ text: `*/${step}`, values: range(0, max, step) })),
    value.map((one) => ({ text: `${one}`, values: new Set([one]) })),
    fc.uniqueArray(value, { minLength: 2, maxLength: 4 }).map((list) => ({ text: list.join(), values: new Set(list) })),
    fc.tuple(value, value, fc.integer({ min: 1, max: 7 })).map(([one, other, step]) => {
      const [from, end] = one < other ? [one, other] : [other, one]
      return { text: step === 1 ? `${from}-${end}` : `${from}-${end}/${step}`, values: range(from, end, step) }
    }),
  )
}

const expression = fc.record({
  minutes: field(59, 59),
  // Most clocks are changed early.
  hours: fc.oneof({ weight: 3, arbitrary: field(4, 23) }, { weight: 1, arbitrary: field(23, 23) }),
  weekdays: fc.oneof({ weight: 2, arbitrary: fc.constant({ text: '*', values: range(0, 6) }) }, field(6, 6)),
})
type Expression = typeof expression extends fc.Arbitrary<infer Value> ? Value : never

interface ShownMinute {
  /** ms since 1970. */
  readonly at: number
  /** What the clock shows: minutes since 1970, as if the zone were UTC. */
  readonly time: number
}

function toShownMinute({ at, date, minutes }: LocalMinute): ShownMinute {
  return { at, time: Date.parse(date) / minute + minutes }
}

const clocks = zones.map(([timeZone, ...changes]) => ({
  timeZone,
  windows: changes.map((text) => {
    const change = Math.floor(Date.parse(text) / hour) * hour
    return { change, minutes: localMinutes(timeZone, change - 4 * hour, change + 12 * hour).map(toShownMinute) }
  }),
}))

test('200 expressions run in 8 zones at the times of the clock, also where it is changed', () => {
  const moments = fc.array(fc.integer({ min: -100, max: 140 }), { minLength: 2, maxLength: 2 })
  fc.assert(
    fc.property(expression, moments, (fields, afters) => {
      const expr = `${fields.minutes.text} ${fields.hours.text} * * ${fields.weekdays.text}`
      for (const { timeZone, windows } of clocks) {
        const times = cronTimes(expr, timeZone)
        assert.ok(times.ok)
        for (const { change, minutes } of windows) {
          for (const offset of afters) {
            const after = change + offset * minute
            const found: number | undefined = times.next(after)
            const end = minutes.at(-1)?.at ?? 0
            const shown: number | undefined = found === undefined || found > end ? undefined : found
            const expected = firstAfter(after, fields, minutes)
            assert.equal(shown, expected, `${expr} in ${timeZone} after ${new Date(after).toISOString()}`)
          }
        }
      }
    }),
    { seed: 24, numRuns: 200 },
  )
})

/**
 * Each time on the calendar belongs to the first minute that shows it or a later one, and a minute with a time runs once. With every
 * hour, the minutes that show a time run.
 */
function firstAfter(after: number, fields: Expression, minutes: readonly ShownMinute[]): number | undefined {
  const everyHour = fields.hours.values.size === 24
  let latest = Number.NEGATIVE_INFINITY
  for (const { at, time } of minutes) {
    const first = everyHour || latest === Number.NEGATIVE_INFINITY ? time : latest + 1
    latest = Math.max(latest, time)
    if (at <= after) continue
    for (let passed = first; passed <= time; passed++) if (admits(fields, passed)) return at
  }
  return undefined
}

/** @param time minutes since 1970, as if the zone were UTC */
function admits({ minutes, hours, weekdays }: Expression, time: number): boolean {
  return (
    minutes.values.has(time % 60) &&
    hours.values.has(Math.floor(time / 60) % 24) &&
    // The first day of 1970 was a Thursday.
    weekdays.values.has((Math.floor(time / 1_440) + 4) % 7)
  )
}
