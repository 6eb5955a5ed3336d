/**
 * Edited plugins are reported for a reload, changed platforms for a restart. Uses real files and real watchers.
 */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
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
  const watcher = createExtensionWatcher(home, async (paths) => void batches.push(paths), log)
  t.after(() => watcher.stop())
  /**
   * Every file that was reported since the action, sorted, once `path` is among them. On a busy machine the notifications of
   * one change come in several batches.
   */
  const reportedBy = async (action: () => void, path?: string) => {
    const first = batches.length
    const reported = () => batches.slice(first)
    const isComplete = () => (path === undefined ? reported().length > 0 : reported().flat().includes(path))
    action()
    while (!isComplete()) await setTimeout(20)
    return [...new Set(reported().flat())].sort()
  }
  assert.deepEqual(await reportedBy(() => watcher.start()), [])
  return { home, log, watcher, reportedBy }
}

test('an edited, added or removed plugin is reported after its files stop changing', async (t) => {
  const { home, reportedBy } = await startWatcher(t)
  const entry = join(home.plugins, 'greeter', 'index.ts')
  const edit = () => writeFileSync(entry, 'export const register = () => 1\n')
  assert.deepEqual(await reportedBy(edit, entry), [entry])
  const replace = () => {
    write(join(home.plugins, '.new'), 'export const register = () => 2\n')
    renameSync(join(home.plugins, '.new'), entry)
  }
  assert.deepEqual(await reportedBy(replace, entry), [entry])
  const added = join(home.plugins, 'tools', 'clock', 'lib', 'time.py')
  await reportedBy(() => write(added, 'x = 1\n'), added)
  await reportedBy(() => rmSync(join(home.plugins, 'greeter'), { recursive: true }), entry)
})

test('data that a plugin writes into its own directory is not a change of the plugin', async (t) => {
  const { home, reportedBy } = await startWatcher(t)
  const entry = join(home.plugins, 'greeter', 'index.ts')
  const writeDataAndEdit = () => {
    write(join(home.plugins, 'greeter', 'greetings.log'), 'hello\n')
    write(join(home.plugins, 'greeter', 'node_modules', 'x', 'index.js'), '')
    writeFileSync(entry, 'export const register = () => 1\n')
  }
  assert.deepEqual(await reportedBy(writeDataAndEdit, entry), [entry])
})

test('a changed platform needs a restart, regardless of its directory', async (t) => {
  const { home, log, watcher } = await startWatcher(t)
  write(join(home.platforms, 'pigeon', 'plugin.yaml'), 'kind: platform\n')
  write(join(home.pairing, 'fake-pending.json'), '{}\n')
  write(join(home.plugins, 'platforms', 'raven', 'adapter.ts'), 'export default {}\n')
  const expected = ['platforms/pigeon', 'platforms/raven']
  while (watcher.changedPlatforms().length < expected.length) await setTimeout(20)
  assert.deepEqual(watcher.changedPlatforms(), expected)
  const reported = log.records.filter(({ level }) => level === 'warn')
  assert.equal(reported.length, 2)
})
