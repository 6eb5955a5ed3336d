import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import test from 'node:test'
import { runShard, type TestResult } from './shard.ts'

/** Errors that no `await` of the test meets, tests inside of tests, and clean-up that is registered late. */
const file = `
import test, { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
test('throws in a timer', async () => {
  await sleep(1)
  setTimeout(() => { throw new Error('thrown late') }, 1)
  await sleep(60_000, undefined, { ref: false })
})
test('leaves a rejection', async () => {
  await sleep(1)
  void Promise.reject(new Error('rejected late'))
  await sleep(60_000, undefined, { ref: false })
})
let cleaned = false
test('outer', async () => {
  await sleep(1)
  after(() => { cleaned = true })
  await test('inner', () => {})
})
test('cleaned', () => { if (!cleaned) throw new Error('the clean-up of the test before has not run') })
describe('suite', () => { it('member', () => {}) })
`

test('a shard reports an error outside of a promise chain as the failure of its test', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shard-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'late.test.mjs')
  writeFileSync(path, file)
  const results: TestResult[] = []
  const exit = await runShard({
    files: [path],
    environment: process.env,
    onResult: (result) => results.push(result),
    onOutput: () => undefined,
  })
  assert.deepEqual(exit, {})
  assert.deepEqual(
    results.map(({ name, passed, error }) => [name, passed, /\w+ late/.exec(error ?? '')?.[0]]),
    [
      ['throws in a timer', false, 'thrown late'],
      ['leaves a rejection', false, 'rejected late'],
      ['outer › inner', true, undefined],
      ['outer', true, undefined],
      ['cleaned', true, undefined],
      ['suite › member', true, undefined],
      ['suite', true, undefined],
    ],
  )
})

test('an error after the end of its test is reported, also beside a test that failed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shard-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'after-the-end.test.mjs')
  const code = `import test from 'node:test'
test('ends early', () => { setTimeout(() => { throw new Error('too late') }, 1) })
test('fails', async () => {
  await new Promise((resolve) => process.once('uncaughtExceptionMonitor', () => setImmediate(resolve)))
  throw new Error('in time')
})`
  writeFileSync(path, code)
  const results: TestResult[] = []
  const exit = await runShard({
    files: [path],
    environment: process.env,
    onResult: (result) => results.push(result),
    onOutput: () => undefined,
  })
  assert.match(exit.problem ?? '', /"ends early".*too late/)
  assert.deepEqual(
    results.map(({ name, passed }) => [name, passed]),
    [
      ['ends early', true],
      ['fails', false],
    ],
  )
})

test('a test that blocks its process is ended and named, with the files that did not run', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shard-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const files = ['blocks', 'never-runs'].map((name) => {
    const path = join(folder, `${name}.test.mjs`)
    writeFileSync(
      path,
      `import test from 'node:test'\ntest('${name}', () => { if ('${name}' === 'blocks') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) })`,
    )
    return path
  })
  const exit = await runShard({
    files,
    environment: process.env,
    maxIdleMs: 5_000,
    onResult: () => undefined,
    onOutput: () => undefined,
  })
  assert.match(exit.problem ?? '', /during "blocks" .*did not run: .*never-runs\.test\.mjs/)
})

test('a process that a test leaves behind neither keeps the run alive nor outlives it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shard-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const left = once(server, 'connection').then(async ([socket]: Socket[]) => await once(socket ?? server, 'close'))
  const path = join(folder, 'leaves.test.mjs')
  const program = `require('node:net').connect(${address.port}, '127.0.0.1', () => console.log('connected'))`
  const code = `import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'node:test'
test('leaves a child', async () => {
  const child = spawn(process.execPath, ['-e', ${JSON.stringify(program)}], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.stdout.destroy()
  child.unref()
})`
  writeFileSync(path, code)
  const exit = await runShard({
    files: [path],
    environment: process.env,
    onResult: () => undefined,
    onOutput: () => undefined,
  })
  assert.deepEqual(exit, {})
  await left
})
