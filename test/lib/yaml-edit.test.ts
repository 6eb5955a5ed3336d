/**
 * Edits of lists in YAML files keep everything else unchanged.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { editLists, type ListEdit } from '../../src/lib/yaml-edit.ts'

const enable = (name: string): readonly ListEdit[] => [
  { path: ['plugins', 'enabled'], add: name },
  { path: ['plugins', 'disabled'], remove: [name] },
]

test('a missing list is created with its parents', () => {
  for (const text of ['', 'plugins:\n', 'plugins: {}\n', 'plugins:\n  enabled:\n']) {
    assert.match(editLists(text, enable('otel')), /^plugins:[\s\S]*enabled:[\s\S]*otel/, JSON.stringify(text))
  }
  assert.equal(editLists('# mine\n', enable('otel')), '# mine\n\nplugins:\n  enabled:\n    - otel\n')
})

test('comments, order and all other values stay', () => {
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

test('a value that already exists leaves the file unchanged', () => {
  const text = 'plugins:   {enabled:   [otel]}   # odd spaces\n'
  assert.equal(editLists(text, enable('otel')), text)
  assert.equal(editLists('a:   1\n', [{ path: ['plugins', 'disabled'], remove: ['otel'] }]), 'a:   1\n')
})

test('a single value becomes a list without duplicates', () => {
  assert.equal(editLists('plugins: {enabled: first}\n', enable('otel')), 'plugins: {enabled: [first, otel]}\n')
  const removal: readonly ListEdit[] = [{ path: ['plugins', 'enabled'], remove: ['a'] }]
  assert.equal(editLists('plugins:\n  enabled: [a, b, a]\n', removal), 'plugins:\n  enabled: [b]\n')
})

test('invalid YAML and a value of another type are rejected', () => {
  for (const text of ['plugins: [', 'plugins: {a: 1', 'plugins: yes\n', '- a\n', 'just text\n']) {
    assert.throws(() => editLists(text, enable('otel')), Error, JSON.stringify(text))
  }
})
