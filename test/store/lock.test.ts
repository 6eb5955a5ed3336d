import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { lockHome } from '../../src/store/sqlite/lock.ts'
import { tempHome } from '../kit/temp-home.ts'

const lockModule = new URL('../../src/store/sqlite/lock.ts', import.meta.url).href

/**
 * Another process that tries to take the lock, prints the result, and keeps the lock until it is killed. It refers to the
 * lock, because garbage collection would close its database and release it.
 */
async function lockInChild(t: TestContext, path: string): Promise<{ child: ChildProcess; outcome: string }> {
  const code = `
    const { lockHome } = await import(${JSON.stringify(lockModule)})
    try {
      globalThis.lock = lockHome(process.argv[1])
      process.stdout.write('locked\\n')
      setInterval(() => undefined, 60_000)
    } catch (error) {
      process.stdout.write(error.code + '\\n')
    }`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [outcome] = await once(child.stdout, 'data')
  return { child, outcome: String(outcome).trim() }
}

test('a second process cannot lock the home while the first holds it, and can after SIGKILL', async (t) => {
  const path = join(tempHome(t), 'gateway.lock')
  const first = await lockInChild(t, path)
  assert.equal(first.outcome, 'locked')
  assert.throws(
    () => lockHome(path),
    (error) => isHermesError(error, 'home/locked') && error.hint.includes('HERMES_HOME'),
  )
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  const lock = lockHome(path)
  t.after(() => lock.release())
  assert.equal((await lockInChild(t, path)).outcome, 'home/locked')
})

test('a second lock in the same process fails, and the first still excludes other processes', async (t) => {
  const path = join(tempHome(t), 'gateway.lock')
  const lock = lockHome(path)
  t.after(() => lock.release())
  assert.throws(
    () => lockHome(path),
    (error) => isHermesError(error, 'home/locked'),
  )
  assert.equal((await lockInChild(t, path)).outcome, 'home/locked')
})

test('a released lock is free immediately, and releasing it twice has no effect', (t) => {
  const path = join(tempHome(t), 'gateway.lock')
  const first = lockHome(path)
  first.release()
  first.release()
  const second = lockHome(path)
  t.after(() => second.release())
  first.release()
  assert.throws(() => lockHome(path))
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('an unusable lock file is not reported as another daemon', (t) => {
  const home = tempHome(t)
  writeFileSync(join(home, 'garbage'), 'this is no lock '.repeat(100))
  mkdirSync(join(home, 'folder'))
  for (const path of [join(home, 'garbage'), join(home, 'folder'), join(home, 'missing', 'gateway.lock')]) {
    assert.throws(
      () => lockHome(path),
      (error) => isHermesError(error, 'home/unusable') && error.detail.includes(path),
    )
  }
})
