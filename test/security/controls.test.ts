/**
 * The table of docs/reference/security.md has a row for every control, with enough cases.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../docs/repository.ts'
import { controls, unproven } from './controls.ts'

const exists = (file: string) => existsSync(join(root, file))

test('every control has as many cases as it needs, in tests that exist', () => {
  assert.deepEqual(
    controls.map(({ id }) => id),
    Array.from({ length: 16 }, (_, index) => `S${index + 1}`),
  )
  for (const { proofs, id } of controls) assert.ok(proofs.length > 0, id)
  assert.deepEqual(unproven(controls, exists), [])
})

test('a control with too few cases or without its file is reported', () => {
  const proof = { what: 'cases', count: 4, atLeast: 5, files: ['test/nothing.test.ts'] }
  assert.deepEqual(unproven([{ id: 'S1', promise: 'x', proofs: [proof] }], exists), [
    'S1: cases: 4 of 5',
    'S1: no file test/nothing.test.ts',
  ])
})
