import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionIdAt, uuid7 } from '../../src/lib/ids.ts'

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('turn ids are version 7 UUIDs that contain their time and sort by it', () => {
  const times = [0, 1, 1_000, Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1) + 1, 2 ** 48 - 1]
  const ids = times.map((time) => uuid7(time))
  for (const [index, id] of ids.entries()) {
    assert.match(id, shape)
    assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), times[index])
  }
  assert.deepEqual(ids.toSorted(), ids)
})

test('ids of the same millisecond differ unless the randomness is the same', () => {
  const now = Date.UTC(2026, 0, 1)
  assert.equal(new Set(Array.from({ length: 1_000 }, () => uuid7(now))).size, 1_000)
  const ones = () => 'ffffffff-ffff-4fff-bfff-ffffffffffff'
  assert.equal(uuid7(0, ones), '00000000-0000-7fff-bfff-ffffffffffff')
  assert.equal(uuid7(0x0123456789ab, ones), '01234567-89ab-7fff-bfff-ffffffffffff')
})

test('a session id contains the local time at which the session began', () => {
  const zeros = () => '00000000-0000-4000-8000-000000000000'
  assert.equal(sessionIdAt(new Date(2026, 0, 2, 3, 4, 5).getTime(), zeros), '20260102_030405_00000000')
  assert.equal(sessionIdAt(new Date(2026, 11, 31, 23, 59, 59, 999).getTime(), zeros), '20261231_235959_00000000')
  assert.match(sessionIdAt(0), /^\d{8}_\d{6}_[0-9a-f]{8}$/)
  assert.notEqual(sessionIdAt(0), sessionIdAt(0))
})
