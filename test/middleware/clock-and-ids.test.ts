import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventIdGenerator, formatMicroTimestamp } from '../../src/middleware/events.ts'
import { createMicroClock } from '../../src/middleware/scope.ts'

test('the clock has microsecond resolution and follows changes of the system clock', () => {
  let wallMs = 1_000_000
  let forwardMs = 10
  const clock = createMicroClock(
    () => wallMs,
    () => forwardMs,
  )
  forwardMs += 0.123
  assert.equal(clock(), 1_000_000_123)
  // A little off is how coarse the one clock is.
  wallMs += 20
  assert.equal(clock(), 1_000_000_123)
  wallMs += 3_600_000
  assert.equal(clock(), 4_600_020_000)
})

test('timestamps have six decimals', () => {
  assert.equal(formatMicroTimestamp(1_767_323_045_000_007), '2026-01-02T03:04:05.000007Z')
  assert.equal(formatMicroTimestamp(1_767_323_045_999_999), '2026-01-02T03:04:05.999999Z')
})

test('ids are unique uuids of version 7 that start with their time', () => {
  const newId = createEventIdGenerator()
  const ids = Array.from({ length: 5_000 }, (_, call) => newId(1_767_323_045_000_000 + call * 100))
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(Number.parseInt((ids[10] ?? '').replace('-', '').slice(0, 12), 16), 1_767_323_045_001)
})

test('ids use the given random bytes', () => {
  const newId = createEventIdGenerator((length) => new Uint8Array(length).fill(0xff))
  assert.equal(newId(0), '00000000-0000-7fff-afff-ffffffffffff')
})
