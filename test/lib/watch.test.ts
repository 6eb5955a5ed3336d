/**
 * Changes of files are seen however they are written. Real files, real watching.
 */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { type Logger, silentLog } from '../../src/lib/log.ts'
import { watchFiles } from '../../src/lib/watch.ts'
import { tempHome } from '../kit/temp-home.ts'

async function watching(t: TestContext, paths: readonly string[], log: Logger = silentLog) {
  const bursts: (readonly string[])[] = []
  let wake: () => void = () => undefined
  const onChange = (changed: readonly string[]) => {
    bursts.push(changed)
    wake()
  }
  const watch = watchFiles(paths, onChange, { log, quietMs: 20 })
  t.after(() => watch.close())
  await watch.ready
  /** The next burst after the action. */
  const burstOf = async (action: () => void): Promise<readonly string[]> => {
    const seen = bursts.length
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    action()
    while (bursts.length === seen) await promise
    return bursts[seen] ?? []
  }
  return { watch, bursts, burstOf }
}

it('a file that comes, changes in place, is replaced again and again, goes and returns is seen each time', async (t) => {
  const folder = tempHome(t)
  const path = join(folder, 'config.yaml')
  const { burstOf } = await watching(t, [path])
  const replace = (text: string) => {
    writeFileSync(join(folder, 'new'), text)
    renameSync(join(folder, 'new'), path)
  }
  assert.deepEqual(await burstOf(() => writeFileSync(path, 'a')), [path])
  assert.deepEqual(await burstOf(() => writeFileSync(path, 'ab')), [path])
  for (const text of ['abc', 'abcd', 'abcde']) assert.deepEqual(await burstOf(() => replace(text)), [path])
  assert.deepEqual(await burstOf(() => rmSync(path)), [path])
  assert.deepEqual(await burstOf(() => replace('back')), [path])
})

it('a folder that does not exist yet is watched once it comes, with what is in it', async (t) => {
  const folder = join(tempHome(t), 'hooks')
  const { burstOf } = await watching(t, [folder])
  const seen = await burstOf(() => {
    mkdirSync(join(folder, 'greet'), { recursive: true })
    writeFileSync(join(folder, 'greet', 'HOOK.yaml'), 'name: greet')
  })
  assert.ok(seen.includes(join(folder, 'greet', 'HOOK.yaml')), seen.join())
})

it('many changes at once are told once', async (t) => {
  const folder = tempHome(t)
  const paths = ['a', 'b', 'c'].map((name) => join(folder, name))
  const { burstOf } = await watching(t, paths)
  const seen = await burstOf(() => {
    for (const path of paths) writeFileSync(path, 'x')
  })
  assert.deepEqual([...seen].sort(), paths)
})

it('a listener that throws is logged and later changes are still told', async (t) => {
  const path = join(tempHome(t), 'file')
  const logged: string[] = []
  const log: Logger = { ...silentLog, error: (_fields, message) => logged.push(message) }
  let calls = 0
  const { promise: second, resolve } = Promise.withResolvers<void>()
  const { promise: first, resolve: firstDone } = Promise.withResolvers<void>()
  const watch = watchFiles(
    [path],
    () => {
      calls += 1
      if (calls === 2) return resolve()
      queueMicrotask(firstDone)
      throw new Error('the listener failed')
    },
    { log, quietMs: 20 },
  )
  t.after(() => watch.close())
  await watch.ready
  writeFileSync(path, 'a')
  await first
  writeFileSync(path, 'ab')
  await second
  assert.deepEqual(logged, ['a change of watched files could not be handled'])
})

it('closing twice, or before the watcher is up, is fine and nothing is told afterwards', async (t) => {
  const path = join(tempHome(t), 'file')
  let calls = 0
  const watch = watchFiles([path], () => calls++, { log: silentLog, quietMs: 1 })
  await Promise.all([watch.close(), watch.close()])
  await watch.ready
  writeFileSync(path, 'a')
  const { burstOf } = await watching(t, [path])
  await burstOf(() => writeFileSync(path, 'ab'))
  assert.equal(calls, 0)
})
