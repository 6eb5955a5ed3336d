import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HermesError } from '../../src/lib/errors.ts'
import { createWriteHealth, minFreeBytes } from '../../src/store/write-health.ts'

test('the database is reported while it cannot be written', () => {
  let free: number | undefined = 10 * minFreeBytes
  const health = createWriteHealth(() => free)
  assert.equal(health.problem(), undefined)
  health.failed(new HermesError('store/unavailable'))
  assert.equal(health.problem(), 'store/unavailable')
  health.succeeded()
  assert.equal(health.problem(), undefined)
  health.failed(new Error('an error of a transaction'))
  assert.equal(health.problem(), undefined)

  free = minFreeBytes - 1
  assert.equal(health.problem(), 'store/full', 'also before a write fails')
  health.failed(new HermesError('store/full'))
  free = 10 * minFreeBytes
  assert.equal(health.problem(), undefined, 'space was freed')
})
