import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cronTimes } from '../../src/cron/cron-expression.ts'
import { decideDue, nextRun } from '../../src/cron/due.ts'
import { parseSchedule, type Schedule } from '../../src/cron/schedule.ts'
import { WallClock } from '../../src/cron/wall-clock.ts'

const now = Date.parse('2026-11-23T12:00:00Z')
const context = { now, timeZone: 'Europe/Berlin', bareDuration: 'once' } as const

async function scheduleOf(text: string, bareDuration: 'once' | 'every' = 'once'): Promise<Schedule> {
  const parsed = await parseSchedule(text, { ...context, bareDuration })
  if (!parsed.ok) assert.fail(parsed.problem)
  return parsed.schedule
}

describe('schedules of jobs', () => {
  const intervals: readonly [string, number][] = [
    ['every 2h', 120],
    ['every 30 minutes', 30],
    ['every hour', 60],
    ['every day', 1_440],
    ['EVERY  1.5 Hours', 90],
    ['every week', 10_080],
    ['every other day', 2_880],
    ['every other week', 20_160],
  ]
  for (const [text, minutes] of intervals) {
    it(`"${text}" is an interval of ${minutes} minutes`, async () => {
      const schedule = await scheduleOf(text)
      assert.ok(schedule.kind === 'interval')
      assert.equal(schedule.minutes, minutes)
    })
  }

  it('a bare duration is one run, or an interval where the configuration says so', async () => {
    const once = await scheduleOf('30m')
    assert.ok(once.kind === 'once')
    assert.equal(once.run_at, '2026-11-23T12:30:00.000Z')
    assert.equal((await scheduleOf('30m', 'every')).kind, 'interval')
    assert.equal((await scheduleOf('in 30m', 'every')).kind, 'once')
  })

  const expressions: readonly [string, string][] = [
    ['0 9 * * 1-5', '0 9 * * 1-5'],
    ['*/5 * * * *', '*/5 * * * *'],
    ['0 0 9 * * MON', '0 0 9 * * MON'],
    ['@daily', '@daily'],
    ['weekdays at 9am', '0 9 * * 1-5'],
    ['every weekday at 9:30', '30 9 * * 1-5'],
    ['every monday 9am', '0 9 * * 1'],
    ['monday, wednesday at 9am', '0 9 * * 1,3'],
    ['tue and thu at 5:15pm', '15 17 * * 2,4'],
    ['weekends at noon', '0 12 * * 0,6'],
    ['every day at midnight', '0 0 * * *'],
    ['daily at 12am', '0 0 * * *'],
    ['sundays', '0 0 * * 0'],
    ['hourly', '0 * * * *'],
    ['daily', '0 0 * * *'],
    ['weekly', '0 0 * * 0'],
    ['weekly on friday at 5pm', '0 17 * * 5'],
    ['every week on friday at 5pm', '0 17 * * 5'],
    ['monthly', '0 0 1 * *'],
    ['monthly at 9am', '0 9 1 * *'],
    ['monthly on the 1st at 9am', '0 9 1 * *'],
    ['every month on the 1st and the 15th at noon', '0 12 1,15 * *'],
    ['on the 2nd of every month at 9:30', '30 9 2 * *'],
    ['the last day of the month at 6pm', '0 18 L * *'],
    ['yearly', '0 0 1 1 *'],
    ['every night at 11pm', '0 23 * * *'],
    ['every night at 11', '0 23 * * *'],
    ['nightly at 2', '0 2 * * *'],
    ['every morning at 7', '0 7 * * *'],
    ['monday evenings at 8', '0 20 * * 1'],
    ['every weekday at 9 a.m.', '0 9 * * 1-5'],
    ['at 9am on weekdays', '0 9 * * 1-5'],
    ['on mondays at 9 am', '0 9 * * 1'],
  ]
  for (const [text, expr] of expressions) {
    it(`"${text}" is the cron expression ${expr}`, async () => {
      const schedule = await scheduleOf(text)
      assert.ok(schedule.kind === 'cron')
      assert.equal(schedule.expr, expr)
    })
  }

  const times: readonly [string, string][] = [
    ['2026-12-24T18:00', '2026-12-24T17:00:00.000Z'],
    ['2026-12-24 18:00', '2026-12-24T17:00:00.000Z'],
    ['2026-12-24T18:00Z', '2026-12-24T18:00:00.000Z'],
    ['2026-12-24T18:00:30+0200', '2026-12-24T16:00:30.000Z'],
    ['2027-07-01', '2027-06-30T22:00:00.000Z'],
    ['tomorrow at 9am', '2026-11-24T08:00:00.000Z'],
    ['at 9am tomorrow', '2026-11-24T08:00:00.000Z'],
    ['tomorrow morning at 7:30', '2026-11-24T06:30:00.000Z'],
    ['today at 14:00', '2026-11-23T13:00:00.000Z'],
    ['tonight at 11', '2026-11-23T22:00:00.000Z'],
  ]
  for (const [text, runAt] of times) {
    it(`"${text}" is one run at ${runAt}`, async () => {
      const schedule = await scheduleOf(text)
      assert.ok(schedule.kind === 'once')
      assert.equal(schedule.run_at, runAt)
    })
  }

  const wrong = [
    '',
    'soon',
    'day',
    'every',
    'every 0m',
    'every 99999999 weeks',
    '2026-02-30',
    '2026-01-01',
    '2026-12-24T25:00',
    '61 * * * *',
    '* * * *',
    '0 0 30 2 *',
    'monday at 25',
    'weekdays at 13pm',
    'blursday at 9am',
    'x'.repeat(300),
    'tomorrow',
    'every night',
    'every other day at 9am',
    'every 3 days at 9am',
    'today at 9am',
    'monthly on the 32nd at 9am',
    'monthly on',
    'remind me about it at 9',
    '*/0 * * * *',
    '5-1 * * * *',
    '0 9 * foo *',
    '0 9 * * 1-5-6',
    '0 9 1W5 * *',
    '60 * * * * *',
  ]
  for (const text of wrong) {
    it(`"${text.slice(0, 20)}" is refused with a reason`, async () => {
      const parsed = await parseSchedule(text, context)
      assert.ok(!parsed.ok)
      assert.notEqual(parsed.problem, '')
      assert.doesNotMatch(parsed.problem, /CronPattern|Syntax|illegal|RangeError|undefined/)
    })
  }

  it('a refused expression names its wrong field and what may stand there', async () => {
    const problems: readonly [string, string][] = [
      ['61 * * * *', 'the minute (0-59) cannot be "61"'],
      ['0 24 * * *', 'the hour (0-23) cannot be "24"'],
      ['60 0 * * * *', 'the second (0-59) cannot be "60"'],
      ['0 9 * foo *', 'the month (1-12 or jan-dec) cannot be "foo"'],
    ]
    for (const [expr, problem] of problems) {
      const parsed = await parseSchedule(expr, context)
      assert.ok(!parsed.ok && parsed.problem.includes(problem), expr)
    }
    assert.deepEqual(cronTimes('0 9 * *', 'UTC'), {
      ok: false,
      problem: 'a cron expression has five or six fields, and this one has 4',
    })
    assert.deepEqual(cronTimes('0 9 * * *', 'Mars/Olympus'), {
      ok: false,
      problem: 'there is no time zone "Mars/Olympus"',
    })
  })

  it('"tomorrow" is the next day of the time zone, not of UTC', async () => {
    const late = { now: Date.parse('2026-11-23T23:30:00Z'), timeZone: 'Asia/Tokyo', bareDuration: 'once' } as const
    const parsed = await parseSchedule('tomorrow at 9am', late)
    assert.ok(parsed.ok && parsed.schedule.kind === 'once')
    assert.equal(parsed.schedule.run_at, '2026-11-25T00:00:00.000Z')
  })
})

describe('clocks that are changed', () => {
  const zones: readonly [string, string, string][] = [
    // A time that is skipped, and one that comes twice: both in the zone, as if it were UTC.
    ['Europe/Berlin', '2027-03-28T02:30:00Z', '2027-10-31T02:30:00Z'],
    ['America/New_York', '2027-03-14T02:30:00Z', '2027-11-07T01:30:00Z'],
    ['Australia/Sydney', '2027-10-03T02:30:00Z', '2027-04-04T02:30:00Z'],
    ['America/St_Johns', '2027-03-14T02:30:00Z', '2027-11-07T01:30:00Z'],
    ['Australia/Lord_Howe', '2027-10-03T02:15:00Z', '2027-04-04T01:45:00Z'],
    ['Africa/Cairo', '2027-04-30T00:30:00Z', '2027-10-28T23:30:00Z'],
  ]
  for (const [timeZone, skipped, twice] of zones) {
    it(`a daily job in ${timeZone} runs once on each day of a year`, () => {
      const format = new Intl.DateTimeFormat('en-CA', { timeZone })
      for (const time of [skipped, twice]) {
        const clock = new Date(time)
        const expr = `${clock.getUTCMinutes()} ${clock.getUTCHours()} * * *`
        const times = cronTimes(expr, timeZone)
        assert.ok(times.ok)
        let at = Date.parse('2026-12-31T12:00:00Z')
        const days = new Set<string>()
        for (let run = 0; run < 365; run++) {
          const next = times.next(at)
          assert.ok(next !== undefined && next > at)
          at = next
          days.add(format.format(at))
        }
        assert.equal(days.size, 365)
      }
    })

    it(`a time in ${timeZone} that is skipped is moved, and the first of two is taken`, () => {
      const clock = new WallClock(timeZone)
      const moved = clock.instantOf(Date.parse(skipped))
      const first = clock.instantOf(Date.parse(twice))
      const shown = (at: number) =>
        new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at)
      assert.notEqual(shown(moved), skipped.slice(11, 16))
      assert.equal(shown(first), twice.slice(11, 16))
      assert.notEqual(shown(first - 30 * 60_000), twice.slice(11, 16))
    })
  }
})

describe('expressions on days of changed clocks', () => {
  const runs: readonly [string, string, string, readonly string[]][] = [
    ['*/29 1 * * *', 'America/New_York', '2027-11-07', ['05:00', '05:29', '05:58']],
    ['24 1-3 * * *', 'Europe/Berlin', '2027-10-31', ['23:24', '00:24', '02:24']],
    ['0-43 2 * * *', 'Europe/Berlin', '2027-03-28', ['01:00']],
    ['30 2,14 * * *', 'Europe/Berlin', '2027-03-28', ['01:00', '12:30']],
    ['0 */6 * * *', 'America/Santiago', '2027-09-05', ['04:00', '09:00', '15:00', '21:00']],
    ['*/20 2 * * *', 'Australia/Lord_Howe', '2027-10-03', ['15:30', '15:40']],
    // Every hour: the clock has this minute twice in the night, or not at all.
    ['15 * * * *', 'Europe/Berlin', '2027-10-31', hours(25, '2027-10-30T22:15Z')],
    ['15 * * * *', 'Europe/Berlin', '2027-03-28', hours(23, '2027-03-27T23:15Z')],
  ]
  for (const [expr, timeZone, date, expected] of runs) {
    it(`"${expr}" in ${timeZone} runs ${expected.length} times on ${date}`, () => {
      const times = cronTimes(expr, timeZone)
      assert.ok(times.ok)
      const clock = new WallClock(timeZone)
      const end = clock.firstShowing(Date.parse(date) + 24 * 3_600_000)
      const found: string[] = []
      let at = times.next(clock.firstShowing(Date.parse(date)) - 1)
      for (; at !== undefined && at < end; at = times.next(at)) found.push(new Date(at).toISOString().slice(11, 16))
      assert.deepEqual(found, expected)
    })
  }
})

function hours(count: number, first: string): readonly string[] {
  return Array.from({ length: count }, (_, hour) =>
    new Date(Date.parse(first) + hour * 3_600_000).toISOString().slice(11, 16),
  )
}

describe('jobs whose time has passed', () => {
  const at = Date.parse('2026-11-23T09:00:00Z')
  const minute = 60_000
  const due = (schedule: Schedule, late: number, catchUp = true) =>
    decideDue({ schedule, nextRunAt: at }, { now: at + late, timeZone: 'UTC', catchUp })
  const once: Schedule = { kind: 'once', run_at: new Date(at).toISOString(), display: '' }
  const hourly: Schedule = { kind: 'interval', minutes: 60, display: '' }
  const daily: Schedule = { kind: 'cron', expr: '0 9 * * *', display: '' }

  it('a job waits until its time', () => {
    assert.deepEqual(due(once, -1), { kind: 'wait' })
  })

  it('a job that runs once runs up to two minutes late, and never later', () => {
    assert.deepEqual(due(once, 0), { kind: 'fire', slot: at, how: 'on_time', next: null })
    assert.deepEqual(due(once, 2 * minute), { kind: 'fire', slot: at, how: 'late', next: null })
    assert.deepEqual(due(once, 2 * minute + 1), { kind: 'retire', lateMs: 2 * minute + 1 })
  })

  it('an interval keeps its rhythm', () => {
    assert.deepEqual(due(hourly, 10_000), { kind: 'fire', slot: at, how: 'on_time', next: at + 60 * minute })
  })

  it('many missed runs lead to one, and the rhythm stays', () => {
    assert.deepEqual(due(hourly, 605 * minute), { kind: 'fire', slot: at, how: 'catch_up', next: at + 660 * minute })
    assert.deepEqual(due(daily, 3 * 1_440 * minute + minute), {
      kind: 'fire',
      slot: at,
      how: 'catch_up',
      next: at + 4 * 1_440 * minute,
    })
  })

  it('missed runs are left out where the configuration says so', () => {
    assert.deepEqual(due(hourly, 605 * minute, false), { kind: 'skip', next: at + 660 * minute })
    assert.equal(due(hourly, 20 * minute, false).kind, 'fire')
  })

  it('a schedule that cannot be read has no next run and a reason', () => {
    assert.equal(nextRun({ kind: 'cron', expr: 'nonsense', display: '' }, at, at, 'UTC').ok, false)
    assert.equal(nextRun({ kind: 'once', run_at: 'never', display: '' }, at, at, 'UTC').ok, false)
    assert.equal(nextRun({ kind: 'interval', minutes: Number.NaN, display: '' }, at, at, 'UTC').ok, false)
  })
})
