import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { z } from 'zod'
import { sessionsConfig } from '../../src/sessions/config.ts'
import { dueReset, resetPolicyFor } from '../../src/sessions/reset-policy.ts'

const minutes = 60_000
const day = 24 * 60 * minutes
const at = (text: string) => new Date(text).getTime()
const daily = { mode: 'daily', at_hour: 4, idle_minutes: 1440 } as const
const idle = { mode: 'idle', at_hour: 4, idle_minutes: 30 } as const

test('a session is idle after the configured minutes, and not at that moment', () => {
  const last = at('2026-03-05T12:00:00')
  assert.equal(dueReset(idle, last, last + 30 * minutes), null)
  assert.equal(dueReset(idle, last, last + 30 * minutes + 1), 'idle')
  assert.equal(dueReset({ ...idle, mode: 'none' }, last, last + 900 * day), null)
})

test('the first message after the hour of the day begins a new session, however long the pause was', () => {
  assert.equal(dueReset(daily, at('2026-03-05T03:59:59'), at('2026-03-05T04:00:00')), 'daily')
  assert.equal(dueReset(daily, at('2026-03-05T04:00:00'), at('2026-03-06T03:59:59')), null)
  assert.equal(dueReset(daily, at('2026-03-01T12:00:00'), at('2026-03-05T02:00:00')), 'daily')
  const midnight = { ...daily, at_hour: 0 }
  assert.equal(dueReset(midnight, at('2026-12-31T23:59:59'), at('2027-01-01T00:00:00')), 'daily')
})

test('with both, idleness is the reason where both apply', () => {
  const both = { ...daily, mode: 'both', idle_minutes: 60 } as const
  assert.equal(dueReset(both, at('2026-03-04T12:00:00'), at('2026-03-05T12:00:00')), 'idle')
  assert.equal(dueReset(both, at('2026-03-05T03:50:00'), at('2026-03-05T04:10:00')), 'daily')
})

test('a clock that was set back ends no session', () => {
  const last = at('2026-03-05T12:00:00')
  for (const back of [1, 60, 100_000])
    assert.equal(dueReset({ ...daily, mode: 'both' }, last, last - back * minutes), null)
})

test('an override for a platform wins over one for the type of chat, value by value', () => {
  const config = z.object(sessionsConfig).parse({
    session_reset: { mode: 'idle', idle_minutes: 100 },
    reset_by_type: { group: { mode: 'daily', idle_minutes: 7 }, thread: { mode: 'none' } },
    reset_by_platform: { slack: { mode: 'both' } },
  })
  const of = (platform: string, chatType: 'dm' | 'group' | 'channel' | 'thread' | 'forum') => {
    const { mode, idle_minutes } = resetPolicyFor(config, { platform, chatType })
    return `${mode} ${idle_minutes}`
  }
  assert.equal(of('telegram', 'dm'), 'idle 100')
  assert.equal(of('telegram', 'group'), 'daily 7')
  assert.equal(of('telegram', 'channel'), 'daily 7')
  assert.equal(of('telegram', 'forum'), 'none 100')
  assert.equal(of('slack', 'group'), 'both 7')
  assert.equal(of('slack', 'thread'), 'both 100')
})

test('the daily hour is that of the clock on the wall, also on days of 23 and 25 hours', (t) => {
  const zone = process.env['TZ']
  t.after(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })
  process.env['TZ'] = 'Europe/Berlin'
  const due = (hour: number, last: string, now: string) =>
    dueReset({ mode: 'daily', at_hour: hour, idle_minutes: 1 }, new Date(last).getTime(), new Date(now).getTime())
  assert.equal(due(4, '2026-03-28T12:00:00', '2026-03-29T03:59:00'), null)
  assert.equal(due(4, '2026-03-28T12:00:00', '2026-03-29T04:00:00'), 'daily')
  assert.equal(due(2, '2026-03-29T01:59:00', '2026-03-29T03:00:00'), 'daily')
  assert.equal(due(2, '2026-03-29T03:00:00', '2026-03-29T23:00:00'), null)
  assert.equal(due(2, '2026-03-29T12:00:00', '2026-03-30T01:59:00'), null)
  assert.equal(due(4, '2026-10-24T12:00:00', '2026-10-25T03:59:00'), null)
  assert.equal(due(4, '2026-10-24T12:00:00', '2026-10-25T04:00:00'), 'daily')
  assert.equal(due(4, '2026-10-25T04:00:00', '2026-10-26T03:59:00'), null)
  // The zone is that of the test: this hour comes twice there.
  assert.equal(new Date('2026-10-25T02:30:00').getTimezoneOffset(), -120)
})
