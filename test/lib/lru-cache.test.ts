/**
 * The cache keeps the most recently used entries.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLruCache } from '../../src/lib/lru-cache.ts'

test('beyond the limit the least recently used entry is dropped', () => {
  const recent = createLruCache<number>(2)
  recent.set('one', 1)
  recent.set('two', 2)
  assert.equal(recent.get('one'), 1)
  recent.set('three', 3)
  assert.deepEqual(
    ['one', 'two', 'three'].map((key) => recent.get(key)),
    [1, undefined, 3],
  )
})

test('setting a key again does not add an entry, and deleting a key removes its entry', () => {
  const recent = createLruCache<number>(2)
  recent.set('one', 1)
  recent.set('two', 2)
  recent.set('two', 22)
  assert.deepEqual([recent.has('one'), recent.get('two')], [true, 22])
  recent.delete('one')
  recent.set('three', 3)
  assert.deepEqual([recent.has('one'), recent.has('two'), recent.has('three')], [false, true, true])
})
