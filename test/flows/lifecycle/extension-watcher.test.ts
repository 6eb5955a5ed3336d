/**
 * Edited plugins are reported for a reload, changed platforms for a restart. Uses real files and real watchers.
 */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createExtensionWatcher } from '../../../src/flows/lifecycle/extension-watcher.ts'
import { createRecordingLog } from '../../hosts/support.ts'
import { tempHome } from '../../kit/temp-home.ts'

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** The watcher with the batches of plugin files that it reported. */
async function startWatcher(t: TestContext) {
  const root = tempHome(t)
  const platforms = join(root, 'platforms')
  const home = { plugins: join(root, 'plugins'), platforms, pairing: join(platforms, 'pairing') }
  write(join(home.plugins, 'greeter', 'plugin.yaml'), 'name: greeter\n')
  write(join(home.plugins, 'greeter', 'index.ts'), 'export const register = () => undefined\n')
  const log = createRecordingLog()
  const batches: (readonly string[])[] = []
  let wake: () => void = () => undefined
  const watcher = createExtensionWatcher({
    home,
    async syncPlugins(paths) {
      batches.push(paths)
      wake()
    },
    log,
  })
  t.after(() => watcher.stop())
  const nextBatch = async (action: () => void) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    action()
    const timer = setTimeout(resolve, 10_000)
    await promise
    clearTimeout(timer)
    return batches.at(-1) ?? []
  }
  assert.deepEqual(await nextBatch(() => watcher.start()), [])
  return { home, log, watcher, batches, nextBatch }
}

test('an edited, added or removed plugin is reported after its files stop changing', async (t) => {
  const { home, nextBatch } = await startWatcher(t)
  const entry = join(home.plugins, 'greeter', 'index.ts')
  assert.deepEqual(await nextBatch(() => writeFileSync(entry, 'export const register = () => 1\n')), [entry])
  const replace = () => {
    write(join(home.plugins, '.new'), 'export const register = () => 2\n')
    renameSync(join(home.plugins, '.new'), entry)
  }
  assert.deepEqual(await nextBatch(replace), [entry])
  const added = join(home.plugins, 'tools', 'clock', 'lib', 'time.py')
  assert.ok((await nextBatch(() => write(added, 'x = 1\n'))).includes(added))
  const removed = await nextBatch(() => rmSync(join(home.plugins, 'greeter'), { recursive: true }))
  assert.ok(removed.includes(entry))
})

test('data that a plugin writes into its own directory is not a change of the plugin', async (t) => {
  const { home, batches, nextBatch } = await startWatcher(t)
  const before = batches.length
  write(join(home.plugins, 'greeter', 'greetings.log'), 'hello\n')
  write(join(home.plugins, 'greeter', 'node_modules', 'x', 'index.js'), '')
  const entry = join(home.plugins, 'greeter', 'index.ts')
  assert.deepEqual(await nextBatch(() => writeFileSync(entry, 'export const register = () => 1\n')), [entry])
  assert.equal(batches.length, before + 1)
})

test('a changed platform needs a restart, regardless of its directory', async (t) => {
  const { home, log, watcher, nextBatch } = await startWatcher(t)
  await nextBatch(() => {
    write(join(home.platforms, 'pigeon', 'plugin.yaml'), 'kind: platform\n')
    write(join(home.pairing, 'fake-pending.json'), '{}\n')
    write(join(home.plugins, 'platforms', 'raven', 'adapter.ts'), 'export default {}\n')
    // The batch for which the test waits.
    write(join(home.plugins, 'greeter', 'index.ts'), 'export const register = () => 1\n')
  })
  assert.deepEqual(watcher.changedPlatforms(), ['platforms/pigeon', 'platforms/raven'])
  const reported = log.records.filter(({ level }) => level === 'warn')
  assert.equal(reported.length, 2)
})
