import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withFileLock } from '../../src/store/sqlite/file-lock.ts'
import { tempHome } from '../kit/temp-home.ts'

const lockModule = new URL('../../src/store/sqlite/file-lock.ts', import.meta.url).href

/** A process that holds the lock until it is killed. */
async function holdInChild(t: TestContext, path: string): Promise<ChildProcess> {
  const code = `
    const { withFileLock } = await import(${JSON.stringify(lockModule)})
    await withFileLock(process.argv[1], async () => {
      process.stdout.write('locked')
      await new Promise((resolve) => setTimeout(resolve, 60_000))
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

test('work under a lock runs when the process that held it was killed, and not before', async (t) => {
  const path = join(tempHome(t), 'file.lock')
  const child = await holdInChild(t, path)
  let isDone = false
  const work = withFileLock(path, async () => {
    isDone = true
  })
  // Longer than several attempts.
  await sleep(100)
  assert.equal(isDone, false)
  child.kill('SIGKILL')
  await work
  assert.equal(isDone, true)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(path).size, 0)
})

test('a wait for a lock ends with the signal', async (t) => {
  const path = join(tempHome(t), 'file.lock')
  const abort = new AbortController()
  await withFileLock(path, async () => {
    const waiting = withFileLock(path, async () => 'never', abort.signal)
    abort.abort(new Error('stopped'))
    await assert.rejects(waiting, /stopped/)
  })
})

test('changes under a lock do not overlap, also when one of them fails', async (t) => {
  const path = join(tempHome(t), 'count')
  writeFileSync(path, '0')
  const increase = () =>
    withFileLock(`${path}.lock`, async () => {
      const value = Number(readFileSync(path, 'utf8'))
      await Promise.resolve()
      if (value === 2) {
        writeFileSync(path, '3')
        throw new Error('failed')
      }
      writeFileSync(path, String(value + 1))
    })
  const results = await Promise.allSettled(Array.from({ length: 6 }, increase))
  assert.equal(readFileSync(path, 'utf8'), '6')
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 1)
})

test('a lock that cannot be created is reported at once', async (t) => {
  await assert.rejects(
    withFileLock(join(tempHome(t), 'missing', 'file.lock'), async () => undefined),
    (error) => error instanceof Error && 'code' in error && error.code !== 'store/locked',
  )
})
