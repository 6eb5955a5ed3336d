/**
 * Changes of real files are reported however they are written.
 */
import assert from 'node:assert/strict'
import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { type Logger, silentLog } from '../../src/lib/log.ts'
import { watchDirectories, watchFiles } from '../../src/lib/watch-files.ts'
import { tempHome } from '../kit/temp-home.ts'

async function watching(t: TestContext, paths: readonly string[], log: Logger = silentLog, pollIntervalMs = 5) {
  const bursts: (readonly string[])[] = []
  let wake: () => void = () => undefined
  const onChange = (changed: readonly string[]) => {
    bursts.push(changed)
    wake()
  }
  const watch = watchFiles(paths, onChange, { log, pollIntervalMs, settleMs: 5 })
  t.after(() => watch.close())
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

it('every creation, change, replacement and removal of a file is reported', async (t) => {
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

it('a file in a directory that does not exist yet is reported when it is created, and links are followed', async (t) => {
  const folder = join(tempHome(t), 'mounted')
  const path = join(folder, 'config.yaml')
  const { burstOf } = await watching(t, [path])
  const come = () => {
    mkdirSync(folder)
    for (const name of ['one', 'two']) writeFileSync(join(folder, name), name)
    symlinkSync('one', path)
  }
  assert.deepEqual(await burstOf(come), [path])
  const turn = () => {
    symlinkSync('two', join(folder, 'next'))
    renameSync(join(folder, 'next'), path)
  }
  assert.deepEqual(await burstOf(turn), [path])
})

it('a change of a file is reported by the system, however it is saved', async (t) => {
  const folder = tempHome(t)
  const path = join(folder, 'config.yaml')
  writeFileSync(path, 'a')
  const { burstOf } = await watching(t, [path], silentLog, 2 ** 31 - 1)
  assert.deepEqual(await burstOf(() => writeFileSync(path, 'ab')), [path])
  for (const text of ['abc', 'abcd']) {
    const replace = () => {
      writeFileSync(join(folder, 'new'), text)
      renameSync(join(folder, 'new'), path)
    }
    assert.deepEqual(await burstOf(replace), [path])
  }
  assert.deepEqual(await burstOf(() => rmSync(path)), [path])
})

it('a file that changes continuously is reported', async (t) => {
  const path = join(tempHome(t), 'file')
  const { burstOf } = await watching(t, [path])
  const writing = setInterval(() => appendFileSync(path, 'x'), 1)
  t.after(() => clearInterval(writing))
  assert.deepEqual(await burstOf(() => undefined), [path])
})

it('many simultaneous changes are reported once', async (t) => {
  const folder = tempHome(t)
  const paths = ['a', 'b', 'c'].map((name) => join(folder, name))
  const { burstOf } = await watching(t, paths)
  const seen = await burstOf(() => {
    for (const path of paths) writeFileSync(path, 'x')
  })
  assert.deepEqual([...seen].sort(), paths)
})

it('a listener that throws is logged, and later changes are reported', async (t) => {
  const path = join(tempHome(t), 'file')
  const logged: unknown[] = []
  const log: Logger = { ...silentLog, error: (fields) => logged.push(fields['event']) }
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
    { log, pollIntervalMs: 5, settleMs: 5 },
  )
  t.after(() => watch.close())
  writeFileSync(path, 'a')
  await first
  writeFileSync(path, 'ab')
  await second
  assert.deepEqual(logged, ['watch.listener_failed'])
})

it('closing twice has no effect, and nothing is reported afterwards', async (t) => {
  const path = join(tempHome(t), 'file')
  let calls = 0
  const watch = watchFiles([path], () => calls++, { log: silentLog, pollIntervalMs: 1, settleMs: 1 })
  watch.close()
  watch.close()
  const { burstOf } = await watching(t, [path])
  await burstOf(() => writeFileSync(path, 'ab'))
  assert.equal(calls, 0)
})

/** Watches a directory with one file, and waits until everything is watched. */
async function watchingDirectory(t: TestContext) {
  const root = join(tempHome(t), 'hooks')
  mkdirSync(join(root, 'greeter'), { recursive: true })
  writeFileSync(join(root, 'greeter', 'handler.js'), '')
  const seen = new Set<string>()
  let wake: () => void = () => undefined
  const { promise: ready, resolve: markReady } = Promise.withResolvers<void>()
  const onChange = (paths: readonly string[]) => {
    if (paths.length === 0) markReady()
    for (const path of paths) seen.add(path)
    wake()
  }
  const options = { log: silentLog, depth: 1, includes: (path: string) => path.endsWith('.js') }
  const watcher = watchDirectories([root], onChange, options)
  t.after(() => watcher.close())
  await ready
  return {
    root,
    watcher,
    /** Resolves when this path was reported. */
    async reported(path: string): Promise<void> {
      while (!seen.has(path)) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await promise
      }
      seen.delete(path)
    },
  }
}

it('a file that is written immediately after it was added is reported', async (t) => {
  const { root, watcher, reported } = await watchingDirectory(t)
  for (let round = 0; round < 10; round++) {
    const inside = join(root, 'greeter', `words-${round}.json`)
    const outside = join(root, '..', `words-${round}.json`)
    for (const path of [inside, outside]) writeFileSync(path, '')
    watcher.addFiles([inside, outside])
    for (const path of [inside, outside]) writeFileSync(path, 'edited')
    await reported(inside)
    await reported(outside)
  }
})

it('an added file that does not exist yet, is replaced and is removed is reported each time', async (t) => {
  const { root, watcher, reported } = await watchingDirectory(t)
  const path = join(root, 'greeter', 'words.json')
  watcher.addFiles([path])
  writeFileSync(path, 'a')
  await reported(path)
  for (const text of ['ab', 'abc']) {
    writeFileSync(join(root, 'next'), text)
    renameSync(join(root, 'next'), path)
    await reported(path)
  }
  rmSync(path)
  await reported(path)
})

it('changed permissions of a file, a directory and the watched directory itself are reported', async (t) => {
  const { root, reported } = await watchingDirectory(t)
  for (const path of [join(root, 'greeter', 'handler.js'), join(root, 'greeter'), root])
    for (const mode of [0o777, 0o700]) {
      chmodSync(path, mode)
      await reported(path)
    }
})
