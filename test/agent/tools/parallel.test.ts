import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mapWithConcurrency, planBatch } from '../../../src/agent/tools/parallel.ts'

const call = (name: string, args: unknown = {}) => ({
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
})
const plan = (...calls: { name: string; arguments: string }[]) => planBatch(calls, '/srv')
const read = (path: string) => call('read_file', { path })
const write = (path: string) => call('write_file', { path, content: '' })
const patch = (path: string) => call('patch', { path, old_string: 'a', new_string: 'b' })

test('calls that only read run at the same time', () => {
  assert.equal(plan(read('a'), read('b'), call('search_files', { pattern: 'x' }), call('web_search', {})), 'parallel')
  assert.equal(plan(read('a'), read('a')), 'parallel')
  assert.equal(plan(read('src'), call('search_files', { pattern: 'x', path: 'src' })), 'parallel')
})

test('a single call runs directly, and so does none', () => {
  assert.equal(plan(read('a')), 'sequential')
  assert.equal(plan(), 'sequential')
})

test('one call that is not known to be safe makes the whole batch run in order', () => {
  for (const other of ['terminal', 'process', 'todo', 'clarify', 'made_up']) {
    assert.equal(plan(read('a'), call(other), read('b')), 'sequential', other)
  }
})

test('arguments that cannot be read make the whole batch run in order', () => {
  assert.equal(plan(read('a'), call('read_file', '{"path":')), 'sequential')
  assert.equal(plan(read('a'), call('read_file', '[]')), 'sequential')
  assert.equal(plan(read('a'), call('read_file', {})), 'sequential')
  assert.equal(plan(read('a'), call('write_file', { path: 5 })), 'sequential')
})

test('writers of different files run at the same time, of the same or a nested path in order', () => {
  assert.equal(plan(write('a'), write('b'), patch('c')), 'parallel')
  assert.equal(plan(write('a'), patch('a')), 'sequential')
  assert.equal(plan(write('a'), read('./x/../a')), 'sequential')
  assert.equal(plan(read('/srv/a'), write('a')), 'sequential')
  assert.equal(plan(write('src/a.ts'), call('search_files', { pattern: 'x', path: 'src' })), 'sequential')
  assert.equal(plan(write('src/a.ts'), call('search_files', { pattern: 'x' })), 'sequential')
  assert.equal(plan(write('/other/a.ts'), call('search_files', { pattern: 'x' })), 'parallel')
  assert.equal(plan(write('~/a'), read('b')), 'sequential')
})

test('paths are compared by component, not by letters', () => {
  assert.equal(plan(write('src'), write('src2')), 'parallel')
  assert.equal(plan(write('src'), write('src/2')), 'sequential')
})

test('results come in the order of the calls, never more at once than allowed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 3 })), fc.integer({ min: 1, max: 4 }), async (delays, limit) => {
      let running = 0
      let most = 0
      const results = await mapWithConcurrency(delays, limit, async (turns, index) => {
        running += 1
        most = Math.max(most, running)
        for (let turn = 0; turn < turns; turn++) await Promise.resolve()
        running -= 1
        return index
      })
      assert.deepEqual(results, [...delays.keys()])
      assert.ok(most <= limit)
    }),
  )
})

test('after a failure nothing more is begun and the failure is told', async () => {
  const begun: number[] = []
  const work = async (item: number) => {
    begun.push(item)
    if (item === 1) throw new Error('broken')
    await Promise.resolve()
    return item
  }
  await assert.rejects(mapWithConcurrency([0, 1, 2, 3, 4, 5, 6, 7], 2, work), /broken/)
  assert.ok(begun.length < 8)
})
