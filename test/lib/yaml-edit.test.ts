/**
 * Lists in files that people write by hand: changed without touching anything else.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { editLists, type ListEdit } from '../../src/lib/yaml-edit.ts'

const enable = (name: string): readonly ListEdit[] => [
  { path: ['plugins', 'enabled'], add: name },
  { path: ['plugins', 'disabled'], remove: [name] },
]

test('a list that is not there is made, with what it lies in', () => {
  for (const text of ['', 'plugins:\n', 'plugins: {}\n', 'plugins:\n  enabled:\n']) {
    assert.match(editLists(text, enable('otel')), /^plugins:[\s\S]*enabled:[\s\S]*otel/, JSON.stringify(text))
  }
  assert.equal(editLists('# mine\n', enable('otel')), '# mine\n\nplugins:\n  enabled:\n    - otel\n')
})

test('comments, order and everything else stay', () => {
  const before = `# how I like it
model: gpt # the good one

plugins:
  # those I trust
  enabled:
    - first # since May
    - second
  disabled: [otel, never] # not these
  entries: {first: {settings: {a: 1}}}

agent: &agent
  max_turns: 3
other: *agent
`
  const after = before.replace('    - second\n', '    - second\n    - otel\n').replace('[otel, never]', '[never]')
  assert.equal(editLists(before, enable('otel')), after)
})

test('what is there already changes not a byte of the file', () => {
  const text = 'plugins:   {enabled:   [otel]}   # odd spaces\n'
  assert.equal(editLists(text, enable('otel')), text)
  assert.equal(editLists('a:   1\n', [{ path: ['plugins', 'disabled'], remove: ['otel'] }]), 'a:   1\n')
})

test('a single value becomes a list; repetitions go', () => {
  assert.equal(editLists('plugins: {enabled: first}\n', enable('otel')), 'plugins: {enabled: [first, otel]}\n')
  const removal: readonly ListEdit[] = [{ path: ['plugins', 'enabled'], remove: ['a'] }]
  assert.equal(editLists('plugins:\n  enabled: [a, b, a]\n', removal), 'plugins:\n  enabled: [b]\n')
})

test('what is no YAML, or something else than was thought, is refused', () => {
  for (const text of ['plugins: [', 'plugins: {a: 1', 'plugins: yes\n', '- a\n', 'just text\n']) {
    assert.throws(() => editLists(text, enable('otel')), Error, JSON.stringify(text))
  }
})
