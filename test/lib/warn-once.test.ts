/**
 * A persistent condition is logged once as a warning.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../src/lib/log.ts'
import { createWarnOnce } from '../../src/lib/warn-once.ts'

function recordedLevels(keys: readonly string[], maxKeys?: number): string[] {
  const levels: string[] = []
  const log = { ...silentLog, warn: () => void levels.push('warn'), debug: () => void levels.push('debug') }
  const warnOnce = createWarnOnce(log, maxKeys)
  for (const key of keys) warnOnce(key, { event: 'test.repeated' }, 'the same condition')
  return levels
}

test('the first message of a key is a warning, its repetitions are debug lines', () => {
  assert.deepEqual(recordedLevels(['a', 'b', 'a', 'b', 'a']), ['warn', 'warn', 'debug', 'debug', 'debug'])
})

test('only the most recent keys are remembered', () => {
  assert.deepEqual(recordedLevels(['a', 'b', 'a', 'c', 'a', 'b'], 2), [
    'warn',
    'warn',
    'debug',
    'warn',
    'debug',
    'warn',
  ])
})
