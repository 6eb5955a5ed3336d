/**
 * `hermes backup` and `hermes restore`.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { HomeLayout } from '../../src/lib/home.ts'
import { tarArchive } from '../../src/lib/tar.ts'
import { tempHome } from '../kit/temp-home.ts'
import { seedHome } from './seed-home.ts'
import { assertFailed, hermes, homeWith, quietConfig, runInProcess, startDaemon } from './support.ts'

function write(home: HomeLayout, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home.root, path)), { recursive: true })
    writeFileSync(join(home.root, path), text)
  }
}

async function backUp(t: TestContext, home: HomeLayout, ...options: string[]) {
  const file = join(tempHome(t), 'backup.tar.gz')
  const run = await runInProcess(home.root, ['backup', '--to', file, ...options])
  assert.equal(run.code, 0, run.stderr)
  return { file, run, content: gunzipSync(readFileSync(file)).toString('latin1') }
}

test('a backup that is taken under load has every answered message, and the restored home goes on', async (t) => {
  const home = homeWith(t)
  const daemon = await startDaemon(t, home.root)
  const token = readFileSync(home.tokenFile, 'utf8').trim()
  const ask = async (text: string) => {
    const response = await fetch(`${daemon.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-hermes-session-id': text },
      body: JSON.stringify({ model: 'hermes', messages: [{ role: 'user', content: `Reply exactly ${text}` }] }),
    })
    assert.equal(response.status, 200)
  }
  await Promise.all(Array.from({ length: 6 }, (_, index) => ask(`before${index}`)))
  let isDone = false
  const load = (async () => {
    for (let index = 0; !isDone; index += 1) await Promise.all([ask(`during${index}a`), ask(`during${index}b`)])
  })()
  const folder = tempHome(t)
  const run = await hermes(t, ['backup', '--to', folder, '--json'], { home: home.root })
  isDone = true
  await load
  assert.equal(run.code, 0, run.stderr)
  const { file } = JSON.parse(run.stdout)
  assert.equal(statSync(file).mode & 0o777, 0o600)

  assertFailed(await hermes(t, ['restore', file, '--yes'], { home: home.root }), 'home/locked')

  const other = tempHome(t)
  const restored = await hermes(t, ['restore', file, '--yes'], { home: other })
  assert.equal(restored.code, 0, restored.stderr)
  await startDaemon(t, other)
  for (let index = 0; index < 6; index += 1) {
    const found = await hermes(t, ['sessions', 'search', `before${index}`, '--json'], { home: other })
    assert.ok(JSON.parse(found.stdout).length >= 2, `before${index}`)
  }
  const audit = await hermes(t, ['inbox', 'audit', '--json'], { home: other })
  assert.equal(audit.code, 0, audit.stdout)
})

test('a restore brings back what was changed since, and keeps what was there', async (t) => {
  const home = homeWith(t)
  await seedHome(home)
  write(home, { 'skills/a/SKILL.md': 'a', 'memories/MEMORY.md': 'first', 'media/x.bin': 'x', 'workspace/w': 'w' })
  const { file } = await backUp(t, home)
  await seedHome(home, 'Reply exactly later')
  write(home, { 'memories/MEMORY.md': 'second', 'skills/b/SKILL.md': 'b', 'hooks/new/HOOK.yaml': 'name: new' })
  const run = await runInProcess(home.root, ['restore', file, '--yes'])
  assert.equal(run.code, 0, run.stderr)
  assert.equal(readFileSync(join(home.memories, 'MEMORY.md'), 'utf8'), 'first')
  assert.deepEqual(readdirSync(home.skills), ['a'])
  assert.equal(existsSync(home.hooks), false)
  // A backup without media leaves them as they are, and the workspace is in none.
  assert.equal(readFileSync(join(home.media, 'x.bin'), 'utf8'), 'x')
  assert.equal(readFileSync(join(home.workspace, 'w'), 'utf8'), 'w')
  const listed = JSON.parse((await runInProcess(home.root, ['inbox', 'list', '--json'])).stdout)
  assert.equal(JSON.stringify(listed).includes('later'), false)
  assert.equal(readFileSync(join(home.beforeRestore, 'memories/MEMORY.md'), 'utf8'), 'second')
  assert.ok(existsSync(join(home.beforeRestore, 'state.db')))
})

const secretFiles = {
  '.env': 'OPENAI_API_KEY=sk-canary-environment-1\nMY_TOKEN=canary-environment-2-token\n',
  'auth.json': '{"openai":{"api_key":"canary-auth-3-0123456789"}}',
  'gateway.token': 'canary-token-4-0123456789abcdef\n',
  'mcp-tokens/github.json': '{"access_token":"canary-mcp-5-0123456789","refresh_token":"canary-mcp-6-0123456789"}',
  'hooks/mine/.env': 'A=canary-hook-7-0123456789',
  'plugin-state/mine.json': '{"copied":"canary-mcp-5-0123456789"}',
  'memories/MEMORY.md': 'the token is canary-environment-2-token',
  'config.yaml': `${quietConfig}# canary-environment-2-token\napi_key: canary-config-8-0123456789\nmodel: m # mine\n`,
}

test('a backup has no secret unless they are asked for, and says where they were removed', async (t) => {
  const home = homeWith(t)
  write(home, { ...secretFiles, 'media/photo.jpg': 'pixels', 'skills/odd\\name.md': 'x', 'skills/two\nlines.md': 'x' })
  symlinkSync('/etc', join(home.root, 'scripts'))
  const { file, content, run } = await backUp(t, home)
  assert.equal(/canary/.test(content), false)
  assert.match(run.stdout, /Secrets were removed from: api_key.*plugin-state\/mine\.json/)
  assert.match(run.stdout, /no regular files: .*scripts/)
  assert.match(run.stdout, /odd\\name\.md/)
  assert.equal(content.includes('pixels'), false)
  const restored = await runInProcess(home.root, ['restore', file, '--yes'])
  assert.match(restored.stdout, /set again: api_key/)
  assert.match(readFileSync(home.envFile, 'utf8'), /canary-environment-1/)

  const whole = homeWith(t)
  write(whole, secretFiles)
  write(whole, { 'media/photo.jpg': 'pixels' })
  const complete = await backUp(t, whole, '--with-secrets', '--with-media')
  for (let number = 1; number <= 8; number += 1) {
    const isHookFile = number === 7
    assert.ok(complete.content.includes(isHookFile ? 'canary-hook-7' : `-${number}`), String(number))
  }
  assert.match(complete.run.stderr, /Keep it private/)
  const target = tempHome(t)
  assert.equal((await runInProcess(target, ['restore', complete.file, '--yes'])).code, 0)
  for (const [path, text] of Object.entries(secretFiles)) assert.equal(readFileSync(join(target, path), 'utf8'), text)
})

test('a file that is no complete backup is refused, and nothing is changed', async (t) => {
  const home = homeWith(t)
  await seedHome(home)
  write(home, { 'memories/MEMORY.md': 'first' })
  const { file } = await backUp(t, home)
  const bytes = gunzipSync(readFileSync(file))
  const manifestAt = bytes.lastIndexOf('manifest.json')
  const changed = Buffer.from(bytes)
  changed.write('F', bytes.indexOf('first'))
  const entry = (path: string) => ({ path, size: 1, content: [Buffer.from('x')], mode: 0o600, modifiedAt: 0 })
  const outside = Buffer.concat([...tarArchive([entry('hooks/../../outside')])])
  const foreign = Buffer.concat([...tarArchive([entry('gateway.lock')])])
  const manifest = (text: string) => bytes.toString('latin1').replace('"format":1', text)
  const damagedFiles: Readonly<Record<string, Buffer>> = {
    'a changed byte': gzipSync(changed),
    'a cut archive': readFileSync(file).subarray(0, 2_000),
    'no manifest': gzipSync(Buffer.concat([bytes.subarray(0, manifestAt), Buffer.alloc(1_024)])),
    'a path that leads elsewhere': gzipSync(outside),
    'a file of the gateway itself': gzipSync(foreign),
    'another program': Buffer.from('hello'),
  }
  const before = readFileSync(home.databaseFile)
  const path = join(tempHome(t), 'wrong.tar.gz')
  for (const [what, content] of Object.entries(damagedFiles)) {
    writeFileSync(path, content)
    for (const option of ['--check', '--yes'])
      assertFailed(await runInProcess(home.root, ['restore', path, option]), 'backup/damaged', path)
    assert.equal(existsSync(home.restore), false, what)
  }
  writeFileSync(path, gzipSync(Buffer.from(manifest('"format":2'), 'latin1')))
  assertFailed(await runInProcess(home.root, ['restore', path, '--yes']), 'backup/newer')
  assertFailed(await runInProcess(home.root, ['restore', join(home.root, 'none'), '--yes']), 'cli/not-found')
  assertFailed(await runInProcess(home.root, ['restore', file]), 'cli/usage', /--yes/)
  assert.deepEqual(readFileSync(home.databaseFile), before)
  assert.equal((await runInProcess(home.root, ['restore', file, '--check'])).code, 0)
})

test('a backup with a newer database is refused', async (t) => {
  const home = homeWith(t)
  await seedHome(home)
  const { file } = await backUp(t, home)
  const bytes = gunzipSync(readFileSync(file))
  const newer = join(tempHome(t), 'newer.tar.gz')
  const database = new DatabaseSync(home.databaseFile)
  const version = Number(database.prepare('pragma user_version').get()?.['user_version'])
  database.close()
  // The schema version of SQLite is at byte 60 of the file, and the manifest has the hash of the whole.
  const at = bytes.indexOf('SQLite format 3')
  const size = Number.parseInt(bytes.subarray(at - 512 + 124, at - 512 + 135).toString(), 8)
  const original = Buffer.from(bytes.subarray(at, at + size))
  bytes.writeUInt32BE(version + 1, at + 60)
  const { createHash } = await import('node:crypto')
  const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex')
  bytes.write(hashOf(bytes.subarray(at, at + size)), bytes.indexOf(hashOf(original)))
  writeFileSync(newer, gzipSync(bytes))
  assertFailed(await runInProcess(home.root, ['restore', newer, '--yes']), 'backup/newer')
  assert.equal(existsSync(home.restore), false)
})

test('a backup replaces no file, and is refused without a home', async (t) => {
  const home = homeWith(t)
  const { file } = await backUp(t, home)
  assertFailed(await runInProcess(home.root, ['backup', '--to', file]), 'cli/usage', file)
  assertFailed(await runInProcess(join(home.root, 'none'), ['backup']), 'cli/failed')
  const run = await runInProcess(home.root, ['backup'])
  assert.match(run.stdout, /Wrote .*backups.hermes-default-.*\.tar\.gz/)
  assert.equal(readdirSync(home.backups).length, 1)
})
