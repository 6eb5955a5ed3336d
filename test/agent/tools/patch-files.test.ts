/** Patches of several files: what is written, what is refused before anything is written, and what the result says. */
import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { EnvironmentFiles } from '../../../src/agent/environments/files.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

async function fill({ cwd }: Workbench, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(cwd, name, '..'), { recursive: true })
    await writeFile(join(cwd, name), content)
  }
}

async function filesOf({ cwd }: Workbench): Promise<Record<string, string>> {
  const entries = await readdir(cwd, { recursive: true, withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const read = names.sort().map(async (name) => [name.slice(cwd.length + 1), await readFile(name, 'utf8')])
  return Object.fromEntries(await Promise.all(read))
}

const patchOf = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

test('one patch changes, adds, moves and deletes files, and shows the difference', async () => {
  await using bench = await createWorkbench()
  await fill(bench, { 'a.txt': 'one\ntwo\n', 'old.txt': 'gone\n', 'run.sh': 'echo 1\n' })
  await chmod(join(bench.cwd, 'run.sh'), 0o755)
  const result = await bench.run('patch', {
    mode: 'patch',
    patch: patchOf(
      ...['*** Update File: a.txt', ' one', '-two', '+2'],
      ...['*** Add File: new/b.txt', '+fresh'],
      ...['*** Delete File: old.txt'],
      ...['*** Update File: run.sh', '*** Move to: bin/go.sh', '-echo 1', '+echo 2'],
    ),
  })
  assert.deepEqual(result['files_modified'], ['a.txt'])
  assert.deepEqual(result['files_created'], ['new/b.txt', 'bin/go.sh'])
  assert.deepEqual(result['files_deleted'], ['old.txt', 'run.sh'])
  assert.deepEqual(String(result['diff']).split('\n'), [
    ...['--- a/a.txt', '+++ b/a.txt', '@@ -1,2 +1,2 @@', ' one', '-two', '+2'],
    ...['--- /dev/null', '+++ b/new/b.txt', '@@ -0,0 +1 @@', '+fresh'],
    ...['--- a/old.txt', '+++ /dev/null', '@@ -1 +0,0 @@', '-gone'],
    ...['--- a/run.sh', '+++ b/bin/go.sh', '@@ -1 +1 @@', '-echo 1', '+echo 2', ''],
  ])
  assert.deepEqual(await filesOf(bench), { 'a.txt': 'one\n2\n', 'bin/go.sh': 'echo 2\n', 'new/b.txt': 'fresh\n' })
  assert.equal((await stat(join(bench.cwd, 'bin/go.sh'))).mode & 0o777, 0o755)
})

test('nothing is written when one part of a patch cannot be applied', async () => {
  await using bench = await createWorkbench()
  const files = { 'a.txt': 'one\n', 'b.txt': 'two\n', 'c.bin': 'x\0' }
  await fill(bench, files)
  const good = ['*** Update File: a.txt', '-one', '+1']
  for (const [lines, code] of [
    [['*** Update File: b.txt', '-three', '+3'], 'not_found'],
    [['*** Update File: missing.txt', '-x', '+y'], 'not_found'],
    [['*** Delete File: missing.txt'], 'not_found'],
    [['*** Add File: b.txt', '+x'], 'exists'],
    [['*** Move File: b.txt -> c.bin'], 'exists'],
    [['*** Update File: c.bin', '-x', '+y'], 'binary'],
    [['*** Add File: ~/.hermes/config.yaml', '+x'], 'protected'],
    [['*** Update File: ~/.hermes/.env', '-x', '+y'], 'secret'],
    [['*** Add File: ~/.ssh/authorized_keys', '+x'], 'protected'],
    [['*** Frobnicate: b.txt'], 'invalid_patch'],
  ] as const) {
    const result = await bench.run('patch', { patch: patchOf(...good, ...lines) })
    assert.equal(result['code'], code, lines.join('|'))
    assert.deepEqual(await filesOf(bench), files)
  }
  const unchanged = await bench.run('patch', { patch: patchOf('*** Update File: a.txt', ' one') })
  assert.equal(unchanged['code'], 'unchanged')
})

test('later parts of a patch see what earlier ones change', async () => {
  await using bench = await createWorkbench()
  await fill(bench, { 'a.txt': 'one\n', 'b.txt': 'x\n' })
  const result = await bench.run('patch', {
    patch: patchOf(
      ...['*** Update File: a.txt', '-one', '+two', '*** Update File: a.txt', '-two', '+three'],
      ...['*** Delete File: b.txt', '*** Add File: b.txt', '+y'],
      ...['*** Add File: c.txt', '+1', '*** Update File: c.txt', '-1', '+2'],
    ),
  })
  assert.equal(result['error'], undefined)
  assert.deepEqual(await filesOf(bench), { 'a.txt': 'three\n', 'b.txt': 'y\n', 'c.txt': '2\n' })
})

test('when writing fails in the middle, the result says which files were written', async () => {
  await using bench = await createWorkbench()
  await fill(bench, { 'a.txt': '1\n', 'b.txt': '1\n', 'c.txt': '1\n' })
  const { environment } = bench.context
  const files: EnvironmentFiles = {
    ...environment.files,
    writeAtomic: async (path, content, access) => {
      if (path === 'b.txt') throw new Error('no space left on device')
      return environment.files.writeAtomic(path, content, access)
    },
  }
  const change = (name: string) => [`*** Update File: ${name}`, '-1', '+2']
  const broken = { environment: { ...environment, files } }
  const patch = patchOf(...change('a.txt'), ...change('b.txt'), ...change('c.txt'))
  const result = await bench.run('patch', { patch }, broken)
  assert.equal(result['code'], 'partly_written')
  assert.deepEqual(result['written'], ['a.txt'])
  assert.deepEqual(result['not_written'], ['b.txt', 'c.txt'])
  assert.deepEqual(await filesOf(bench), { 'a.txt': '2\n', 'b.txt': '1\n', 'c.txt': '1\n' })
  const first = await bench.run('patch', { patch: patchOf(...change('b.txt')) }, broken)
  assert.equal(first['code'], 'failed')
})

test('a checkpoint is asked for before the first file is written, and not for a patch that is refused', async () => {
  const seen: unknown[] = []
  const beforeChange = async (change: unknown) => {
    seen.push(change, (await filesOf(bench))['a.txt'])
  }
  await using bench = await createWorkbench({ services: { beforeChange } })
  await fill(bench, { 'a.txt': '1\n' })
  const path = join(bench.cwd, 'a.txt')
  await bench.run('patch', { patch: patchOf('*** Update File: a.txt', '-2', '+3') })
  assert.deepEqual(seen.splice(0), [])
  await bench.run('patch', { patch: patchOf('*** Update File: a.txt', '-1', '+2') })
  assert.deepEqual(seen.splice(0), [{ tool: 'patch', paths: [path] }, '1\n'])
  await bench.run('patch', { path: 'a.txt', old_string: '2', new_string: '3' })
  assert.deepEqual(seen.splice(0), [{ tool: 'patch', paths: [path] }, '2\n'])
  await bench.run('write_file', { path: 'a.txt', content: '4\n' })
  assert.deepEqual(seen.splice(0), [{ tool: 'write_file', paths: [path] }, '3\n'])
})

test('a call without the arguments of its mode says which is missing', async () => {
  await using bench = await createWorkbench()
  for (const args of [{}, { path: 'a' }, { path: 'a', old_string: 'x' }, { mode: 'patch' }, { mode: 'replace' }])
    assert.equal((await bench.run('patch', args))['code'], 'invalid_arguments')
})

test('replacing and writing show the difference, bounded; a new file shows none', async () => {
  await using bench = await createWorkbench()
  assert.deepEqual(await bench.run('write_file', { path: 'a.txt', content: 'one\n' }), {
    path: 'a.txt',
    bytes: 4,
    created: true,
  })
  const replaced = await bench.run('patch', { path: 'a.txt', old_string: 'one', new_string: 'two' })
  assert.equal(replaced['diff'], '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n')
  const lines = Array.from({ length: 5_000 }, (_, index) => `${index}\n`).join('')
  const long = await bench.run('write_file', { path: 'a.txt', content: lines })
  assert.ok(String(long['diff']).length <= 6_000)
  assert.match(String(long['diff']), /^--- a\/a.txt[\s\S]*left out\]\n$/)
  assert.equal((await bench.run('write_file', { path: 'a.txt', content: lines }))['diff'], undefined)
})

test('two links to one file are one file in a patch', async () => {
  await using bench = await createWorkbench()
  await fill(bench, { 'a.txt': 'one\ntwo\n' })
  for (const name of ['b.txt', 'c.txt']) await symlink('a.txt', join(bench.cwd, name))
  const both = patchOf('*** Update File: b.txt', '-one', '+1', '*** Update File: c.txt', '-two', '+2')
  assert.deepEqual((await bench.run('patch', { patch: both }))['files_modified'], ['b.txt'])
  assert.deepEqual(await filesOf(bench), { 'a.txt': '1\n2\n' })
})

test('a patch of a long file is applied in a thread, and a link is followed', async () => {
  await using bench = await createWorkbench()
  const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index}`)
  await fill(bench, { 'long.txt': `${lines.join('\n')}\n` })
  await symlink(join(bench.cwd, 'long.txt'), join(bench.cwd, 'link.txt'))
  const result = await bench.run('patch', { patch: patchOf('*** Update File: link.txt', '-line 59999', '+end') })
  assert.deepEqual(result['files_modified'], ['link.txt'])
  assert.ok((await readFile(join(bench.cwd, 'long.txt'), 'utf8')).endsWith('line 59998\nend\n'))
})
