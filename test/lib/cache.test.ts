/**
 * The cache keeps the most recently used entries, and a memo computes again when a value behind its results changes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLruCache, createMemo } from '../../src/lib/cache.ts'

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

test('a result is computed once for each key, and again when a value behind it is another one', () => {
  const memo = createMemo<string>(2)
  let computed = 0
  const resultOf = (behind: readonly unknown[], key: string) => memo(behind, key, () => `${key}${++computed}`)
  const [tools, others] = [['a'], ['a']]
  assert.equal(resultOf([tools, 1], 'x'), 'x1')
  assert.equal(resultOf([tools, 1], 'x'), 'x1')
  assert.equal(resultOf([tools, 1], 'y'), 'y2')
  assert.equal(resultOf([others, 1], 'x'), 'x3', 'an equal value that is not the same')
  assert.equal(resultOf([tools, 1], 'x'), 'x4')
  assert.equal(resultOf([tools, 2], 'x'), 'x5')
})
