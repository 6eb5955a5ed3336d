/** Checkpoints with the real git: what is kept, what is left out, restoring and undoing it, limits and retention. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createCheckpoints, type FolderChange } from '../../../src/agent/checkpoints/checkpoints.ts'
import { commandChangesFiles } from '../../../src/agent/checkpoints/command-changes-files.ts'
import { checkpointsConfig } from '../../../src/agent/checkpoints/config.ts'
import { folderOf } from '../../../src/agent/checkpoints/folder.ts'
import { findProgram } from '../../../src/lib/find-program.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { sleep } from '../../../src/lib/timers.ts'

const searchPath = '/usr/local/bin:/usr/bin:/bin'
const skip = findProgram('git', searchPath) === undefined ? 'git is not installed' : false
const { signal } = new AbortController()
const mayWrite = async () => undefined
const mayRead = mayWrite
const dayMs = 86_400_000

async function setUp(changes: Partial<ReturnType<typeof checkpointsConfig.checkpoints.parse>> = {}, path = searchPath) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'hermes-checkpoints-')))
  const [home, work] = [join(root, 'me/.hermes'), join(root, 'work')]
  for (const directory of [home, work]) await mkdir(directory, { recursive: true })
  const settings = { ...checkpointsConfig.checkpoints.parse({}), enabled: true, auto_prune: false, ...changes }
  const warnings: unknown[] = []
  let now = 1_000
  const checkpoints = createCheckpoints({
    directory: join(home, 'checkpoints'),
    home,
    workspace: join(home, 'workspace'),
    userHome: join(root, 'me'),
    searchPath: () => path,
    openSecretFilter: async () => (path) => path.includes('/hidden/'),
    settings: () => settings,
    clock: () => now,
    log: { ...silentLog, warn: (fields: unknown) => void warnings.push(fields) },
  })
  let turn = 0
  const before = (more: Partial<FolderChange> = {}) => {
    turn += 1
    now += 1_000
    const change = {
      reason: 'patch',
      session: 's',
      turn: `t${turn}`,
      paths: [join(work, 'a.txt')],
      areDirectories: false,
      cwd: work,
      mayWrite: async () => true,
    }
    return checkpoints.before({ ...change, ...more }, signal)
  }
  const put = async (name: string, content: string) => {
    await mkdir(dirname(join(work, name)), { recursive: true })
    await writeFile(join(work, name), content)
  }
  return {
    root,
    work,
    home,
    checkpoints,
    settings,
    warnings,
    before,
    put,
    get: (name: string) => readFile(join(work, name), 'utf8'),
    names: async () => (await readdir(work)).sort(),
    list: () => checkpoints.list({ session: 's' }, signal),
    pass: (ms: number) => {
      now += ms
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
}

async function newest(bench: Awaited<ReturnType<typeof setUp>>, at = 0) {
  const found = (await bench.list())[at]
  assert.ok(found !== undefined)
  return found
}

test('a checkpoint restores changed, removed and added files, and restoring can be undone', { skip }, async () => {
  await using bench = await setUp()
  const { put, get, checkpoints } = bench
  await put('a.txt', 'one\r\n')
  await put('deep/run.sh', 'echo 1\n')
  await chmod(join(bench.work, 'deep/run.sh'), 0o755)
  await put('.gitattributes', '* text=auto eol=lf ident filter=evil\n')
  await symlink('a.txt', join(bench.work, 'link'))
  await bench.before()
  await put('a.txt', 'two\n')
  await rm(join(bench.work, 'deep'), { recursive: true })
  await put('new.txt', 'new\n')
  const target = await newest(bench)
  const restored = await checkpoints.restore(target, { session: 's', mayWrite }, signal)
  assert.deepEqual([restored.changed, restored.removed, restored.left], [['a.txt', 'deep/run.sh'], ['new.txt'], []])
  assert.equal(await get('a.txt'), 'one\r\n')
  assert.equal((await stat(join(bench.work, 'deep/run.sh'))).mode & 0o111, 0o111)
  assert.deepEqual(await bench.names(), ['.gitattributes', 'a.txt', 'deep', 'link'])
  const undo = await newest(bench)
  assert.equal(undo.id, restored.undo?.id)
  await checkpoints.restore(undo, { session: 's', mayWrite }, signal)
  assert.deepEqual([await get('a.txt'), await get('new.txt')], ['two\n', 'new\n'])
  assert.deepEqual(await bench.names(), ['.gitattributes', 'a.txt', 'link', 'new.txt'])
})

test('one file alone is restored, and none outside of the folder', { skip }, async () => {
  await using bench = await setUp()
  await bench.put('a.txt', '1')
  await bench.put('b.txt', '1')
  await bench.before()
  await bench.put('a.txt', '2')
  await bench.put('b.txt', '2')
  const target = await newest(bench)
  await bench.checkpoints.restore(target, { file: 'b.txt', session: 's', mayWrite }, signal)
  assert.deepEqual([await bench.get('a.txt'), await bench.get('b.txt')], ['2', '1'])
  for (const file of ['../me/.hermes/config.yaml', '/etc/passwd', '.'])
    await assert.rejects(bench.checkpoints.restore(target, { file, session: 's', mayWrite }, signal), {
      code: 'checkpoints/refused',
    })
})

test('nothing is changed when one of the files may not be written', { skip }, async () => {
  await using bench = await setUp()
  await bench.put('a.txt', '1')
  await bench.put('AGENTS.md', '1')
  await bench.before()
  await bench.put('a.txt', '2')
  await bench.put('AGENTS.md', '2')
  const refuse = async (path: string) => (path.endsWith('AGENTS.md') ? 'only an owner may' : undefined)
  const restoring = bench.checkpoints.restore(await newest(bench), { session: 's', mayWrite: refuse }, signal)
  await assert.rejects(restoring, { code: 'checkpoints/refused' })
  assert.equal(await bench.get('a.txt'), '2')
})

test('secrets, generated folders, large files and repositories are left out and stay as they are', {
  skip,
}, async () => {
  await using bench = await setUp({ max_file_size_mb: 0.001 })
  await bench.put('a.txt', '1')
  const others = {
    '.env': 'KEY=1',
    id_rsa: 'key',
    'node_modules/x.js': '1',
    'big.txt': 'x'.repeat(5_000),
    'ignored.txt': '1',
  }
  for (const [name, content] of Object.entries(others)) await bench.put(name, content)
  await bench.put('.gitignore', 'ignored.txt\n')
  await bench.put('.env.example', 'KEY=')
  await bench.put('inner/.git/HEAD', 'ref: refs/heads/main\n')
  await bench.put('.git/config', '[core]\n\thooksPath = hooks\n')
  await bench.before()
  const objects = await readdir(join(bench.home, 'checkpoints'), { recursive: true })
  const kept = objects.filter((name) => /objects\/[0-9a-f]{2}\/./.test(name)).length
  // Three files, their tree and the commit.
  assert.equal(kept, 5)
  for (const name of [...Object.keys(others), 'a.txt']) await bench.put(name, 'changed')
  const restored = await bench.checkpoints.restore(await newest(bench), { session: 's', mayWrite }, signal)
  assert.deepEqual(restored.changed, ['a.txt'])
  const notKept = ['.env', 'id_rsa', 'ignored.txt', 'inner/', 'node_modules/']
  assert.deepEqual(restored.left.toSorted(), notKept, 'what stays changed is named')
  assert.equal(await bench.get('.env'), 'changed')
  assert.equal(await bench.get('.git/config'), '[core]\n\thooksPath = hooks\n')
})

test('a turn takes one checkpoint of a folder, also when it changes several files at once', { skip }, async () => {
  await using bench = await setUp()
  await bench.put('a.txt', '1')
  await Promise.all([bench.before({ turn: 't' }), bench.before({ turn: 't', paths: [join(bench.work, 'b/c.txt')] })])
  await bench.put('a.txt', '2')
  await bench.before({ turn: 't' })
  assert.equal((await bench.list()).length, 1)
  await bench.before({ turn: 'u', session: 'other' })
  assert.equal((await bench.list()).length, 1, 'a conversation sees its own checkpoints alone')
  assert.equal((await bench.checkpoints.list({}, signal)).length, 2)
})

test('the difference since a checkpoint is shown, and nothing for equal files', { skip }, async () => {
  await using bench = await setUp()
  await bench.put('a.txt', 'one\n')
  await bench.before()
  assert.equal(await bench.checkpoints.diff(await newest(bench), { mayRead }, signal), '')
  await bench.put('a.txt', 'two\n')
  const diff = await bench.checkpoints.diff(await newest(bench), { file: 'a.txt', mayRead }, signal)
  assert.match(diff, /1 file changed[\s\S]*^-one$[\s\S]*^\+two$/m)
  const refuse = async (path: string) => (path.endsWith('a.txt') ? 'It is secret.' : undefined)
  await assert.rejects(bench.checkpoints.diff(await newest(bench), { mayRead: refuse }, signal), {
    code: 'checkpoints/refused',
  })
})

test('what the sandbox hides is not kept, and a folder that may not be written gets no checkpoint', {
  skip,
}, async () => {
  await using bench = await setUp()
  await bench.put('a.txt', 'one\n')
  await bench.put('hidden/key', 'secret\n')
  await bench.before({ mayWrite: async () => false })
  assert.deepEqual(await bench.list(), [])
  await bench.before()
  await bench.put('hidden/key', 'changed\n')
  await bench.put('hidden/new', 'name\n')
  assert.equal(await bench.checkpoints.diff(await newest(bench), { mayRead }, signal), '')
  await bench.checkpoints.restore(await newest(bench), { session: 's', mayWrite }, signal)
  assert.equal(await bench.get('hidden/key'), 'changed\n')
})

test('a file that was never kept is named as such, and not as unchanged', { skip }, async () => {
  await using bench = await setUp()
  await bench.put('.gitignore', 'ignored.txt\n')
  await bench.put('ignored.txt', 'one\n')
  await bench.put('a.txt', 'one\n')
  await bench.before()
  await bench.put('ignored.txt', 'two\n')
  const restore = async (file: string) =>
    await bench.checkpoints.restore(await newest(bench), { session: 's', mayWrite, file }, signal)
  for (const file of ['ignored.txt', 'run.log'])
    await assert.rejects(restore(file), { code: 'checkpoints/refused' }, file)
  assert.equal((await restore('a.txt')).undo, undefined)
})

test('a conversation does not push out the checkpoints of another one', { skip }, async () => {
  await using bench = await setUp({ max_snapshots: 2 })
  await bench.put('a.txt', '0')
  await bench.before()
  for (const content of ['1', '2', '3']) {
    await bench.put('a.txt', content)
    await bench.before({ session: 'other' })
  }
  assert.equal((await bench.list()).length, 1)
  assert.equal((await bench.checkpoints.list({ session: 'other' }, signal)).length, 2)
  bench.pass(8 * dayMs)
  await bench.put('a.txt', '4')
  await bench.before({ session: 'other' })
  assert.equal((await bench.checkpoints.prune({ orphans: false }, signal)).checkpoints, 1)
  assert.deepEqual(await bench.list(), [], 'a conversation without changes for long keeps none')
})

test('only so many checkpoints are kept; old and lost folders are pruned', { skip }, async () => {
  await using bench = await setUp({ max_snapshots: 2 })
  for (const content of ['1', '2', '3', '4']) {
    await bench.put('a.txt', content)
    await bench.before()
  }
  assert.deepEqual(
    (await bench.list()).map(({ id }) => id),
    ['4', '3'],
  )
  assert.deepEqual(await bench.checkpoints.prune({ orphans: false }, signal).then(({ folders }) => folders), 0)
  await bench.checkpoints.restore(await newest(bench, 1), { session: 's', mayWrite }, signal)
  assert.equal(await bench.get('a.txt'), '3', 'what is kept survives the removal of what is not')
  bench.pass(8 * dayMs)
  assert.equal((await bench.checkpoints.prune({ orphans: false }, signal)).folders, 1)
  assert.deepEqual(await bench.checkpoints.folders(signal), [])
  await bench.before()
  await rm(bench.work, { recursive: true })
  assert.equal((await bench.checkpoints.prune({ orphans: false }, signal)).folders, 0, 'its disk may be away')
  assert.equal((await bench.checkpoints.prune({ orphans: true }, signal)).folders, 1)
})

test('a stop of the gateway ends the removal of old checkpoints', { skip }, async (t) => {
  const bin = await mkdtemp(join(tmpdir(), 'hermes-git-'))
  t.after(() => rm(bin, { recursive: true }))
  const git = findProgram('git', searchPath)
  const script = `#!/bin/sh\ncase " $* " in *' gc '*) : > '${bin}/begun'; exec sleep 1000;; esac\nexec '${git}' "$@"\n`
  await writeFile(join(bin, 'git'), script, { mode: 0o700 })
  await using bench = await setUp({}, `${bin}:${searchPath}`)
  await bench.put('a.txt', '1')
  await bench.before()
  const lastPrune = join(bench.home, 'checkpoints', '.last_prune')
  await writeFile(lastPrune, '')
  await utimes(lastPrune, 0, 0)
  bench.pass(8 * dayMs)
  bench.settings.auto_prune = true
  await bench.put('a.txt', '2')
  await bench.before({ session: 'other' })
  while (!existsSync(join(bin, 'begun'))) await sleep(10)
  await bench.checkpoints.close()
  assert.deepEqual(bench.warnings, [])
})

test('without git nothing is kept; that is said once, and no turn fails', async () => {
  await using bench = await setUp({}, '/nowhere')
  await bench.before()
  await bench.before()
  assert.deepEqual(bench.warnings, [{ event: 'checkpoint.unavailable' }])
  await assert.rejects(bench.list(), { code: 'checkpoints/unavailable' })
})

test('a failure of git is logged and does not stop the turn', { skip }, async () => {
  await using bench = await setUp()
  await bench.put('a.txt', '1')
  await writeFile(join(bench.home, 'checkpoints'), 'no directory')
  await bench.before()
  assert.equal(bench.warnings.length, 1)
})

test('two processes that take checkpoints of one folder at once both succeed', { skip }, async () => {
  await using bench = await setUp()
  await bench.put('a.txt', '1')
  const turns = Array.from({ length: 4 }, (_, index) => bench.before({ turn: `p${index}`, session: `s${index}` }))
  await Promise.all(turns)
  assert.equal((await bench.checkpoints.list({}, signal)).length, 4)
  assert.deepEqual(bench.warnings, [])
})

test('the folder of a checkpoint is the repository or the working directory, and never too much', async () => {
  await using bench = await setUp()
  const { work, root, home } = bench
  await bench.put('repo/.git/HEAD', '')
  await bench.put('repo/src/a.ts', '')
  const rules = { home, workspace: join(home, 'workspace'), userHome: join(root, 'me'), cwd: work }
  const find = (path: string, cwd = work, isDirectory = false) => folderOf(path, { ...rules, cwd, isDirectory })
  assert.equal(await find(join(work, 'repo/src/new/b.ts')), join(work, 'repo'))
  assert.equal(await find(join(work, 'deep/new/b.ts')), work)
  await mkdir(join(root, 'me/notes'))
  assert.equal(await find(join(root, 'me/notes/a.md'), join(root, 'me')), join(root, 'me/notes'))
  for (const path of ['/', '/etc/passwd', join(root, 'me/a.txt'), join(home, 'config.yaml'), '/tmp/a.txt'])
    assert.equal(await find(path, '/'), undefined, path)
  await mkdir(join(home, 'workspace'))
  assert.equal(await find(join(home, 'workspace/a.txt'), join(home, 'workspace')), join(home, 'workspace'))
})

test('commands that change files are told from those that only read', () => {
  for (const command of [
    'rm -r old',
    'cd x && mv a b',
    'sed -i s/a/b/ c',
    'echo x > a',
    'echo x >> a',
    'git -C x checkout .',
    'find . -delete',
    '/bin/cp a b',
    'cat a | tee b',
    'perl -pi -e 1 a',
    'x 2> err',
  ])
    assert.equal(commandChangesFiles(command), true, command)
  for (const command of [
    'ls -la',
    'cat a',
    'git status',
    'git log --oneline',
    'grep -r x . 2>/dev/null',
    'npm test 2>&1',
    'sed -n 1p a',
    'echo "a -> b"',
    'test 1 -gt 0',
    'make',
  ])
    assert.equal(commandChangesFiles(command), false, command)
})
