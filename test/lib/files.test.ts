/**
 * Reading and writing small files, and the home directory.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic, writeFileAtomicAsync } from '../../src/lib/files.ts'
import { createHomeLayout, prepareHome } from '../../src/lib/home.ts'
import { tempHome } from '../kit/temp-home.ts'

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

describe('writing a file', () => {
  it('writes exactly the new text with the requested mode, and leaves no other file', (t) => {
    const folder = tempHome(t)
    const path = join(folder, 'gateway.token')
    writeFileAtomic(path, 'one')
    writeFileAtomic(path, 'two, ünïcode', 0o600)
    assert.equal(readFileSync(path, 'utf8'), 'two, ünïcode')
    assert.equal(modeOf(path), '600')
    assert.deepEqual(readdirSync(folder), ['gateway.token'])
  })

  it('makes a file private that other users could read', (t) => {
    const path = join(tempHome(t), 'secret')
    writeFileSync(path, 'old', { mode: 0o644 })
    writeFileAtomic(path, 'new', 0o600)
    assert.equal(modeOf(path), '600')
  })

  it('that fails keeps the old file and leaves no temporary file', (t) => {
    const folder = tempHome(t)
    mkdirSync(join(folder, 'taken'))
    assert.throws(() => writeFileAtomic(join(folder, 'taken'), 'text'))
    assert.throws(() => writeFileAtomic(join(folder, 'missing', 'file'), 'text'), { code: 'ENOENT' })
    assert.deepEqual(readdirSync(folder), ['taken'])
  })
})

describe('saving a file asynchronously', () => {
  it('writes exactly the new text, private to the owner, and leaves no other file', async (t) => {
    const folder = tempHome(t)
    const path = join(folder, 'state.json')
    await writeFileAtomicAsync(path, 'one')
    chmodSync(path, 0o644)
    await writeFileAtomicAsync(path, 'two, ünïcode')
    assert.equal(readFileSync(path, 'utf8'), 'two, ünïcode')
    assert.equal(modeOf(path), '600')
    assert.deepEqual(readdirSync(folder), ['state.json'])
  })

  it('that fails keeps the old file and leaves no temporary file', async (t) => {
    const folder = tempHome(t)
    mkdirSync(join(folder, 'taken'))
    await assert.rejects(writeFileAtomicAsync(join(folder, 'taken'), 'text'), { code: 'EISDIR' })
    await assert.rejects(writeFileAtomicAsync(join(folder, 'missing', 'file'), 'text'), { code: 'ENOENT' })
    assert.deepEqual(readdirSync(folder), ['taken'])
  })
})

describe('reading a file', () => {
  it('distinguishes a missing file from one that cannot be read', (t) => {
    const folder = tempHome(t)
    writeFileSync(join(folder, 'text'), '\uFEFFhello')
    writeFileSync(join(folder, 'binary'), Buffer.from([0x68, 0xff, 0xfe, 0x00]))
    symlinkSync('loop', join(folder, 'loop'))
    assert.equal(readTextIfExists(join(folder, 'text')), 'hello')
    assert.equal(readTextIfExists(join(folder, 'nothing')), undefined)
    assert.throws(() => readTextIfExists(folder), { kind: 'is-directory' })
    assert.throws(() => readTextIfExists(join(folder, 'binary')), { kind: 'not-utf8' })
    assert.throws(() => readTextIfExists(join(folder, 'text'), 3), { kind: 'too-large' })
    assert.throws(() => readTextIfExists(join(folder, 'loop')), { code: 'ELOOP' })
  })

  it('does not wait for a pipe without a writer', { skip: process.platform === 'win32' }, (t) => {
    const path = join(tempHome(t), 'pipe')
    execFileSync('mkfifo', [path])
    assert.throws(() => readTextIfExists(path), { kind: 'not-regular-file' })
  })
})

describe('the home', () => {
  it('is created with its parents and is private', (t) => {
    const home = createHomeLayout(join(tempHome(t), 'deep', '.hermes'))
    prepareHome(home)
    prepareHome(home)
    assert.equal(modeOf(home.root), '700')
  })

  it('that other users could read becomes private', (t) => {
    const home = createHomeLayout(join(tempHome(t), 'open'))
    mkdirSync(home.root)
    chmodSync(home.root, 0o755)
    prepareHome(home)
    assert.equal(modeOf(home.root), '700')
  })

  it('that is a file is an error with a hint', (t) => {
    const path = join(tempHome(t), 'file')
    writeFileSync(path, '')
    assert.throws(
      () => prepareHome(createHomeLayout(path)),
      (error) => isHermesError(error, 'home/unusable') && error.message.includes(path) && error.hint !== '',
    )
  })

  it('has the file names that users and scripts rely on', () => {
    const { root, ...paths } = createHomeLayout('/h')
    assert.equal(root, '/h')
    assert.deepEqual(
      Object.values(paths).map((path) => path.slice(3)),
      [
        'config.yaml',
        '.env',
        'auth.json',
        'mcp-tokens',
        'cache/mcp',
        'active_profile',
        'profiles',
        'profile.json',
        'SOUL.md',
        'BOOT.md',
        'state.db',
        'gateway.token',
        'gateway.pid',
        'chat_history.jsonl',
        'paused.json',
        'gateway.lock',
        'hooks',
        'plugins',
        'plugin-state',
        'platforms',
        'platforms/pairing',
        'pairing',
        'tsconfig.json',
        'tsconfig.sdk.json',
        'skills',
        'memories',
        'cron',
        'media',
        'media/pictures',
        'workspace',
        'checkpoints',
        'backups',
        '.restore',
        'before-restore',
        'logs',
        'cache',
        'cache/config.last-good.yaml',
        'cache/results',
      ],
    )
  })

  it('creates directories when they are needed, and an existing one keeps its mode', (t) => {
    const folder = tempHome(t)
    mkdirSync(join(folder, 'mine'), { mode: 0o750 })
    ensureDirectory(join(folder, 'mine'), 0o700)
    ensureDirectory(join(folder, 'new', 'er'), 0o700)
    assert.equal(modeOf(join(folder, 'mine')), '750')
    assert.equal(modeOf(join(folder, 'new', 'er')), '700')
  })
})
