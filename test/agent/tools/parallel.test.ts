import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInTools } from '../../../src/agent/tools/built-in-tools.ts'
import { planBatch } from '../../../src/agent/tools/parallel.ts'

const call = (name: string, args: unknown = {}) => ({
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
})
const plan = (...calls: { name: string; arguments: string }[]) => planBatch(calls, (name) => builtInTools.get(name))
const read = (path: string) => call('read_file', { path })
const write = (path: string) => call('write_file', { path, content: '' })
const patch = (path: string) => call('patch', { path, old_string: 'a', new_string: 'b' })

test('calls that only read run in parallel', () => {
  assert.equal(plan(read('a'), read('b'), call('search_files', { pattern: 'x' }), call('web_search', {})), 'parallel')
  assert.equal(plan(read('a'), read('a')), 'parallel')
  assert.equal(plan(read('src'), call('search_files', { pattern: 'x', path: 'src' })), 'parallel')
})

test('a batch of one call or none is sequential', () => {
  assert.equal(plan(read('a')), 'sequential')
  assert.equal(plan(), 'sequential')
})

test('one call that is not known to be safe makes the whole batch sequential', () => {
  for (const other of ['terminal', 'process', 'todo', 'clarify', 'made_up']) {
    assert.equal(plan(read('a'), call(other), read('b')), 'sequential', other)
  }
})

test('invalid arguments make the whole batch sequential', () => {
  assert.equal(plan(read('a'), call('read_file', '{"path":')), 'sequential')
  assert.equal(plan(read('a'), call('read_file', '[]')), 'sequential')
  assert.equal(plan(read('a'), call('read_file', {})), 'sequential')
  assert.equal(plan(read('a'), call('write_file', { path: 5 })), 'sequential')
})

test('writers of different files run in parallel; writers of the same or a nested path run sequentially', () => {
  assert.equal(plan(write('a'), write('b'), patch('c')), 'parallel')
  assert.equal(plan(write('a'), patch('a')), 'sequential')
  assert.equal(plan(write('a'), read('./x/../a')), 'sequential')
  assert.equal(plan(read('/srv/a'), write('a')), 'sequential')
  assert.equal(plan(write('src/a.ts'), call('search_files', { pattern: 'x', path: 'src' })), 'sequential')
  assert.equal(plan(write('src/a.ts'), call('search_files', { pattern: 'x' })), 'sequential')
  assert.equal(plan(write('/other/a.ts'), call('search_files', { pattern: 'x', path: '/srv' })), 'parallel')
  // The commands of the session may have moved to /other.
  assert.equal(plan(write('/other/a.ts'), call('search_files', { pattern: 'x' })), 'sequential')
  assert.equal(plan(write('~/a'), read('b')), 'sequential')
  // The session may work in a directory `project`.
  assert.equal(plan(write('../project/a'), read('a')), 'sequential')
})

test('paths are compared by component, not by character', () => {
  assert.equal(plan(write('src'), write('src2')), 'parallel')
  assert.equal(plan(write('src'), write('src/2')), 'sequential')
})
