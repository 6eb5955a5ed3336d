import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { chooseLeftOut } from './left-out.ts'
import { runShard } from './shard.ts'

const choose = (...costs: (readonly [name: string, cpuMs: number])[]) =>
  chooseLeftOut(
    'test/a.test.ts',
    costs.map(([name, cpuMs]) => ({ name, cpuMs })),
  )

test('the main promise of a file and what takes little always run', () => {
  assert.deepEqual(choose(['main', 900]), [])
  assert.deepEqual(choose(['main', 900], ['short', 20], ['long', 100], ['short too', 59]), ['long'])
})

test('tests that build on each other in one suite run together', () => {
  assert.deepEqual(choose(['suite > first', 300], ['suite > second', 300], ['alone', 100]), ['alone'])
  assert.deepEqual(choose(['alone', 140], ['suite > first', 30], ['suite > second', 60]), ['suite'])
})

test('a test that is left out does not run, and its neighbours of a similar name do', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'left-out-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'some.test.mjs')
  writeFileSync(
    file,
    `import { describe, test } from 'node:test'
test('costs 1 (one)', () => {})
test('costs 1 (one) and more', () => {})
describe('a suite', () => { test('inside', () => {}) })
test('stays', () => {})
`,
  )
  const names: string[] = []
  const { problem } = await runShard({
    files: [file],
    leftOut: ['costs 1 (one)', 'a suite'],
    environment: process.env,
    onResult: ({ name }) => names.push(name),
    onOutput: () => undefined,
  })
  assert.deepEqual([names, problem], [['costs 1 (one) and more', 'stays'], undefined])
})
