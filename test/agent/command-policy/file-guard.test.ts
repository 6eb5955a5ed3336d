import assert from 'node:assert/strict'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createFileGuard, createRemoteFileGuard } from '../../../src/agent/command-policy/file-guard.ts'

let root = ''
let userHome = ''
let home = ''
let work = ''
before(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'hermes-guard-')))
  userHome = join(root, 'me')
  home = join(userHome, '.hermes')
  work = join(root, 'work')
  for (const directory of [home, work, join(userHome, '.ssh')]) await mkdir(directory, { recursive: true })
  for (const file of ['.env', 'gateway.token', 'auth.json', 'state.db', 'config.yaml']) {
    await writeFile(join(home, file), 'secret')
  }
})
after(() => rm(root, { recursive: true, force: true }))

const guard = () => createFileGuard({ home, userHome })
const writable = async (path: string) => (await guard().checkWrite(path)).ok
const readable = async (path: string) => (await guard().checkRead(path)).ok

test('ordinary files may be written, also in directories that do not exist yet', async () => {
  assert.deepEqual(await guard().checkWrite(join(work, 'a.txt')), { ok: true, path: join(work, 'a.txt') })
  assert.ok(await writable(join(work, 'new', 'deep', 'b.txt')))
  assert.ok(await writable(join(userHome, 'notes.md')))
  assert.ok(await writable(join(work, '.env.example')))
  assert.ok(await writable(join(home, 'notes', 'x.md')))
})

test('only an owner writes the files that become a part of the prompts of everybody', async () => {
  for (const name of ['AGENTS.md', '.hermes.md', 'claude.md', 'packages/a/.cursorrules']) {
    const path = join(work, name)
    assert.equal((await guard().checkWrite(path, true)).ok, true, name)
    const result = await guard().checkWrite(path, false)
    assert.ok(!result.ok && result.code === 'protected', name)
  }
  await symlink(join(work, 'AGENTS.md'), join(work, 'harmless.md'))
  assert.equal((await guard().checkWrite(join(work, 'harmless.md'), false)).ok, false)
  assert.ok((await guard().checkWrite(join(work, 'notes.md'), false)).ok)
})

test('shared memory is writable although it lies below a system directory', async () => {
  assert.ok(await writable('/dev/shm/hermes-guard/notes.txt'))
  assert.equal(await writable('/dev/null-like-device'), false)
})

test('keys, credentials, system files and files of the gateway are not writable', async () => {
  for (const path of [
    join(userHome, '.ssh', 'id_ed25519'),
    join(userHome, '.ssh', 'authorized_keys'),
    join(userHome, '.aws', 'credentials'),
    join(userHome, '.gnupg', 'x'),
    join(userHome, '.bashrc'),
    join(userHome, '.netrc'),
    join(work, '.env'),
    join(work, '.env.production'),
    join(work, 'deep', '.ENV'),
    join(home, '.env'),
    join(home, 'config.yaml'),
    join(home, 'gateway.token'),
    join(home, 'auth.json'),
    join(home, 'shell-hooks-allowlist.json'),
    join(home, 'hooks', 'mine', 'handler.ts'),
    join(home, 'memories', 'MEMORY.md'),
    join(home, 'skills', 'deploy', 'SKILL.md'),
    join(home, 'platforms', 'mine', 'adapter.ts'),
    join(home, 'plugins', 'mine', 'plugin.yaml'),
    join(home, 'cache', 'handlers', 'x.mjs'),
    join(home, 'state.db'),
    join(home, 'state.db-wal'),
    '/etc/hosts',
    '/etc/new/file',
    '/dev/sda',
    '/dev/null',
    '/proc/self/mem',
    '/usr/bin/python3',
    '/boot/x',
    join(work, '..', 'me', '.ssh', 'config'),
  ]) {
    assert.equal(await writable(path), false, path)
  }
})

test('a link is resolved before the decision, also when its target does not exist', async () => {
  await symlink(join(userHome, '.ssh'), join(work, 'keys'))
  await symlink(join(userHome, '.ssh', 'not-there'), join(work, 'dangling'))
  await symlink(join(work, 'dangling'), join(work, 'twice'))
  await symlink('/etc', join(work, 'settings'))
  await symlink(join(home, 'gateway.token'), join(work, 'token'))
  await symlink(work, join(userHome, 'project'))
  assert.equal(await writable(join(work, 'keys', 'id_rsa')), false)
  assert.equal(await writable(join(work, 'dangling')), false)
  assert.equal(await writable(join(work, 'twice')), false)
  assert.equal(await writable(join(work, 'settings', 'new')), false)
  assert.equal(await readable(join(work, 'token')), false)
  assert.deepEqual(await guard().checkWrite(join(userHome, 'project', 'a')), { ok: true, path: join(work, 'a') })
})

test('a cycle of links is an error, not an endless search', async () => {
  await symlink(join(work, 'b'), join(work, 'a-loop'))
  await symlink(join(work, 'a-loop'), join(work, 'b'))
  await assert.rejects(guard().checkWrite(join(work, 'a-loop')))
})

test('a home directory that is reached through a link is still protected', async () => {
  await symlink(home, join(root, 'elsewhere'))
  const linked = createFileGuard({ home: join(root, 'elsewhere'), userHome })
  assert.equal((await linked.checkRead(join(home, '.env'))).ok, false)
  assert.equal((await linked.checkWrite(join(home, 'state.db'))).ok, false)
  assert.equal((await linked.createReadFilter())(join(home, 'state.db')), false)
  assert.equal((await guard().checkRead(join(root, 'elsewhere', 'auth.json'))).ok, false)
})

test('secrets of the gateway and of processes are not readable, other files are', async () => {
  const mayRead = await guard().createReadFilter()
  for (const file of ['.env', 'gateway.token', 'auth.json', 'state.db', 'state.db-wal', 'memories/USER.md']) {
    assert.equal(await readable(join(home, file)), false, file)
    assert.equal(mayRead(join(home, file)), false, file)
  }
  assert.equal(await readable('/proc/self/environ'), false)
  assert.equal(await readable(`/proc/${process.pid}/environ`), false)
  assert.ok(await readable(join(home, 'config.yaml')))
  assert.ok(await readable('/etc/hosts'))
  assert.ok(await readable(join(work, '.env')))
  assert.ok(await readable('/proc/cpuinfo'))
})

test('a long result of a tool is read in its conversation alone, also without a sandbox', async () => {
  const [mine, theirs] = ['mine', 'theirs'].map((turn) => join(home, 'cache/results', turn, 'call.txt'))
  assert.ok(mine !== undefined && theirs !== undefined)
  const exposed = async () => [mine]
  const mayRead = await guard().createReadFilter(exposed)
  assert.deepEqual([mine, theirs].map(mayRead), [true, false])
  assert.equal((await guard().checkRead(mine, exposed)).ok, true)
  for (const path of [theirs, join(home, 'cache/results')])
    assert.equal((await guard().checkRead(path, exposed)).ok, false, path)
})

test('with a safe root no file outside it is written, whatever the form of the path', async () => {
  const inside = join(root, 'inside')
  await mkdir(inside)
  await symlink(work, join(inside, 'link-to-work'))
  const strict = createFileGuard({ home, userHome, writeSafeRoot: inside })
  const result = await strict.checkWrite(join(work, 'a.txt'))
  assert.ok(!result.ok)
  assert.equal(result.code, 'outside_safe_root')
  assert.match(result.reason, /HERMES_WRITE_SAFE_ROOT/)
  assert.equal((await strict.checkWrite(join(inside, '..', 'work', 'a.txt'))).ok, false)
  assert.equal((await strict.checkWrite(join(inside, 'link-to-work', 'a.txt'))).ok, false)
  assert.equal((await strict.checkWrite(`${inside}-other/a.txt`)).ok, false)
  assert.equal((await strict.checkWrite(join(inside, 'deep', 'a.txt'))).ok, true)
  assert.equal((await strict.checkWrite(join(inside, '.env'))).ok, false)
})

test('a directory is not written as a file', async () => {
  assert.equal(await writable(work), false)
})

test('on another machine, its own keys and the secrets of a gateway are protected', () => {
  const denial = createRemoteFileGuard('/home/bot/.hermes')
  const verdicts = (path: string) =>
    (['read', 'write'] as const).filter((intent) => denial(path, '/home/there', intent) !== undefined)
  assert.deepEqual(verdicts('/home/there/project/a.ts'), [])
  for (const path of ['/home/there/.ssh/authorized_keys', '/home/there/.bashrc', '/etc/passwd', '/srv/app/.env'])
    assert.deepEqual(verdicts(path), ['write'], path)
  for (const path of ['/home/bot/.hermes/.env', '/home/there/.hermes/auth.json', '/proc/1/environ'])
    assert.deepEqual(verdicts(path), ['read', 'write'], path)
})
