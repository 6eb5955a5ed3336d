import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlowCommits } from '../../src/store/slow-commits.ts'
import { recordingLog } from '../http/support.ts'
import { createManualClock } from '../kit/manual-clock.ts'

test('each slow commit is logged, and the status is degraded until a minute has passed without one', () => {
  const clock = createManualClock()
  const { log, lines } = recordingLog()
  const commits = createSlowCommits({ clock: clock.now, log })
  assert.equal(commits.hasRecent(), false)
  commits.record(250.4)
  assert.equal(commits.hasRecent(), true)
  clock.advance(59_999)
  assert.equal(commits.hasRecent(), true)
  commits.record(1_000)
  clock.advance(59_999)
  assert.equal(commits.hasRecent(), true)
  clock.advance(1)
  assert.equal(commits.hasRecent(), false)
  assert.equal(lines.length, 2)
})
