/**
 * A restore that is killed before any of its steps leaves the old files or the new ones after the next lock of the home.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createHomeLayout } from '../../src/lib/home.ts'
import { lockHome } from '../../src/store/sqlite/lock.ts'
import { collectRestore } from '../../src/store/sqlite/restore.ts'
import { tempHome } from '../kit/temp-home.ts'

const names = ['config.yaml', 'skills', 'state.db', 'state.db-wal', 'SOUL.md']
const formerFiles = { 'config.yaml': 'old', 'skills/a': 'old', 'state.db': 'old', 'state.db-wal': 'old' }
const newFiles = { 'config.yaml': 'new', 'skills/b': 'new', 'state.db': 'new', 'SOUL.md': 'new' }
const otherFiles = { other: 'same' }

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** The files with their texts, without those of the gateway itself. */
function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const texts = files.map((entry) => {
    const path = join(entry.parentPath, entry.name)
    return [path.slice(folder.length + 1), readFileSync(path, 'utf8')]
  })
  return Object.fromEntries(texts.filter(([path = '']) => !/^(?:gateway\.lock|before-restore|\.restore)/.test(path)))
}

/** Kills itself before the step of this number. */
const child = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const [root, step, restore, layout, names] = JSON.parse(process.argv[1])
let left = step
for (const name of ['renameSync', 'rmSync']) {
  const real = fs[name]
  fs[name] = (...args) => {
    if (left-- === 0) process.kill(process.pid, 'SIGKILL')
    return real(...args)
  }
}
syncBuiltinESMExports()
const { applyRestore } = await import(restore)
const { createHomeLayout } = await import(layout)
applyRestore(createHomeLayout(root), names)
`

/** Whether the process was killed. */
function restoreUntil(root: string, step: number): boolean {
  const urls = ['store/sqlite/restore.ts', 'lib/home.ts'].map((path) => new URL(`../../src/${path}`, import.meta.url))
  const args = JSON.stringify([root, step, ...urls.map(String), names])
  const { status, signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', child, args])
  assert.ok(signal === 'SIGKILL' || status === 0, String(stderr))
  return signal === 'SIGKILL'
}

function collectedHome(t: TestContext) {
  const home = createHomeLayout(tempHome(t))
  write(home.root, { ...formerFiles, ...otherFiles })
  write(collectRestore(home), newFiles)
  write(home.beforeRestore, { 'config.yaml': 'older' })
  return home
}

test('a restore that is killed before any step is undone or finished by the next lock', (t) => {
  const results: string[] = []
  for (let step = 0, isKilled = true; isKilled; step += 1) {
    const home = collectedHome(t)
    isKilled = restoreUntil(home.root, step)
    lockHome(home.lockFile).release()
    const isNew = 'SOUL.md' in filesIn(home.root)
    results.push(isNew ? 'finished' : 'undone')
    const expected = isNew ? newFiles : formerFiles
    assert.deepEqual(filesIn(home.root), { ...expected, ...otherFiles }, `step ${step}`)
    assert.deepEqual(filesIn(home.beforeRestore), isNew ? formerFiles : { 'config.yaml': 'older' }, `step ${step}`)
    assert.equal(existsSync(home.restore), false)
  }
  assert.ok(results.length > 8)
  // Only before the journal was written.
  assert.deepEqual(results, ['undone', ...Array.from({ length: results.length - 1 }, () => 'finished')])
})
