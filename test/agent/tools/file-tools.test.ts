import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readTextFile, writeFileAtomic } from '../../../src/agent/support/files.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
before(async () => {
  bench = await createWorkbench()
})
after(() => bench[Symbol.asyncDispose]())

const put = (name: string, content: string | Buffer) => writeFile(join(bench.cwd, name), content)
const get = (name: string) => readFile(join(bench.cwd, name), 'utf8')

test('read_file returns lines with numbers and the number of lines', async () => {
  await put('a.txt', 'one\ntwo\r\nthree\n')
  assert.deepEqual(await bench.run('read_file', { path: 'a.txt' }), {
    content: '1|one\n2|two\n3|three',
    total_lines: 3,
  })
})

test('a range of lines contains the offset of the next range', async () => {
  await put('long.txt', Array.from({ length: 50 }, (_, index) => `line ${index + 1}`).join('\n'))
  const result = await bench.run('read_file', { path: 'long.txt', offset: 10, limit: 2 })
  assert.deepEqual(result, { content: '10|line 10\n11|line 11', total_lines: 50, next_offset: 12 })
  const last = await bench.run('read_file', { path: 'long.txt', offset: 50 })
  assert.deepEqual(last, { content: '50|line 50', total_lines: 50 })
  const beyond = await bench.run('read_file', { path: 'long.txt', offset: 51 })
  assert.equal(beyond['code'], 'offset_too_large')
  assert.match(String(beyond['error']), /\b50\b/)
})

test('a file too long for one result ends at a complete line and can be continued', async () => {
  await put('wide.txt', `${'"quoted"\n'.repeat(1_000)}`)
  const small = { limits: { maxResultChars: 3_000 } }
  const first = await bench.run('read_file', { path: 'wide.txt' }, small)
  assert.ok(JSON.stringify(first).length <= 3_000)
  const next = Number(first['next_offset'])
  assert.ok(String(first['content']).endsWith(`${next - 1}|"quoted"`))
  const second = await bench.run('read_file', { path: 'wide.txt', offset: next }, small)
  assert.ok(String(second['content']).startsWith(`${next}|"quoted"`))
})

test('an empty file, a very long line and a file in the home directory can be read', async () => {
  await put('empty.txt', '')
  assert.deepEqual(await bench.run('read_file', { path: 'empty.txt' }), { content: '', total_lines: 0 })
  await put('line.txt', 'x'.repeat(10_000))
  assert.match(String((await bench.run('read_file', { path: 'line.txt' }))['content']), /^1\|x{2000}… .*10000/)
  await writeFile(join(bench.userHome, 'note.txt'), 'mine')
  assert.equal((await bench.run('read_file', { path: '~/note.txt' }))['content'], '1|mine')
})

test('a path that is not a text file returns an error with the reason', async () => {
  await put('image.png', Buffer.from([0x89, 0x50, 0, 1, 2]))
  await mkdir(join(bench.cwd, 'folder'), { recursive: true })
  await bench.run('terminal', { command: 'mkfifo pipe' })
  for (const [path, code] of [
    ['image.png', 'binary'],
    ['folder', 'is_directory'],
    ['missing.txt', 'not_found'],
    ['pipe', 'not_regular_file'],
    ['/dev/zero', 'not_regular_file'],
  ] as const) {
    const result = await bench.run('read_file', { path })
    assert.equal(result['code'], code, path)
    assert.ok(String(result['error']).includes(path), path)
  }
})

test('secrets of the gateway cannot be read directly, through a link or by a search', async () => {
  await writeFile(join(bench.home, 'gateway.token'), 'topsecret')
  await writeFile(join(bench.home, 'notes.md'), 'topsecret plans')
  await symlink(join(bench.home, 'gateway.token'), join(bench.cwd, 'innocent.txt'))
  for (const path of [join(bench.home, 'gateway.token'), 'innocent.txt', '~/.hermes/.env', '/proc/self/environ']) {
    assert.equal((await bench.run('read_file', { path }))['code'], 'secret', path)
  }
  const found = await bench.run('search_files', { pattern: 'topsecret', path: bench.home })
  assert.equal(found['matches'], `${join(bench.home, 'notes.md')}:1:topsecret plans`)
  const direct = await bench.run('search_files', { pattern: '.', path: join(bench.home, 'gateway.token') })
  assert.equal(direct['code'], 'secret')
})

test('a file or folder that a link replaces after the check is neither read nor written', async () => {
  for (const folder of ['checked', 'elsewhere']) await mkdir(join(bench.cwd, folder))
  await put('checked/a.txt', 'harmless')
  await put('elsewhere/a.txt', 'topsecret')
  const path = join(bench.cwd, 'checked', 'a.txt')
  assert.equal((await readTextFile(path, path, 1_000)).ok, true)
  await rm(path)
  await symlink(join(bench.cwd, 'elsewhere', 'a.txt'), path)
  assert.deepEqual(await readTextFile(path, path, 1_000).then((read) => read.ok || read.code), 'changed')
  await rm(join(bench.cwd, 'checked'), { recursive: true })
  await symlink(join(bench.cwd, 'elsewhere'), join(bench.cwd, 'checked'))
  assert.deepEqual(await readTextFile(path, path, 1_000).then((read) => read.ok || read.code), 'changed')
  await assert.rejects(writeFileAtomic(path, 'written'))
  assert.equal(await get('elsewhere/a.txt'), 'topsecret')
})

test('write_file creates missing directories and can be repeated', async () => {
  const result = await bench.run('write_file', { path: 'new/deep/b.txt', content: 'héllo\n' })
  assert.deepEqual(result, { path: 'new/deep/b.txt', bytes: 7, created: true })
  const again = await bench.run('write_file', { path: 'new/deep/b.txt', content: 'héllo\n' })
  assert.equal(again['created'], false)
  assert.equal(await get('new/deep/b.txt'), 'héllo\n')
  assert.deepEqual(await readdir(join(bench.cwd, 'new/deep')), ['b.txt'])
})

test('writing keeps the mode of a file and follows an allowed link', async () => {
  await put('run.sh', 'old')
  await chmod(join(bench.cwd, 'run.sh'), 0o755)
  await symlink(join(bench.cwd, 'run.sh'), join(bench.cwd, 'link.sh'))
  await bench.run('write_file', { path: 'link.sh', content: 'new' })
  assert.equal(await get('run.sh'), 'new')
  assert.equal((await stat(join(bench.cwd, 'run.sh'))).mode & 0o777, 0o755)
})

test('protected files are not written or patched', async () => {
  await mkdir(join(bench.userHome, '.ssh'), { recursive: true })
  await symlink(join(bench.userHome, '.ssh', 'authorized_keys'), join(bench.cwd, 'keys'))
  for (const path of ['~/.ssh/authorized_keys', 'keys', '.env', join(bench.home, 'config.yaml'), '/etc/hermes-test']) {
    assert.equal((await bench.run('write_file', { path, content: 'x' }))['code'], 'protected', path)
  }
  const patched = await bench.run('patch', { path: '/etc/hosts', old_string: 'localhost', new_string: 'x' })
  assert.equal(patched['code'], 'protected')
})

test('text that occurs once is replaced literally', async () => {
  await put('c.txt', 'a\nb\nc\n')
  const result = await bench.run('patch', { path: 'c.txt', old_string: 'b', new_string: '$& $1 b' })
  assert.deepEqual(result, {
    path: 'c.txt',
    replaced: 1,
    lines: [2],
    diff: '--- a/c.txt\n+++ b/c.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+$& $1 b\n c\n',
  })
  assert.equal(await get('c.txt'), 'a\n$& $1 b\nc\n')
})

test('text that occurs several times is not replaced; the error contains the lines', async () => {
  await put('d.txt', 'x = 1\ny\nx = 1\n')
  const { code, error } = await bench.run('patch', { path: 'd.txt', old_string: 'x = 1', new_string: 'x = 2' })
  assert.equal(code, 'ambiguous')
  assert.match(String(error), /1, 3/)
  assert.equal(await get('d.txt'), 'x = 1\ny\nx = 1\n')
  const all = await bench.run('patch', { path: 'd.txt', old_string: 'x = 1', new_string: 'x = 2', replace_all: true })
  assert.deepEqual(all['lines'], [1, 3])
  assert.equal(await get('d.txt'), 'x = 2\ny\nx = 2\n')
})

test('a patch that cannot be applied leaves the file unchanged and returns a hint', async () => {
  await put('e.txt', 'first\nsecond\n')
  await put('latin.txt', Buffer.from([0x61, 0xe9, 0x0a]))
  const failure = async (path: string, old_string: string, new_string = 'x') => {
    const { code, error } = await bench.run('patch', { path, old_string, new_string })
    return { code, error: String(error) }
  }
  assert.equal((await failure('e.txt', 'nowhere')).code, 'not_found')
  const similar = await failure('e.txt', 'first\nthird')
  assert.equal(similar.code, 'not_found')
  assert.match(similar.error, /\b1\b/, 'the line at which the text begins')
  assert.equal((await failure('e.txt', 'first', 'first')).code, 'unchanged')
  const missing = await failure('missing.txt', 'a')
  assert.equal(missing.code, 'not_found')
  assert.match(missing.error, /write_file/)
  assert.equal((await failure('latin.txt', 'a')).code, 'not_utf8')
  assert.match((await failure('e.txt', '')).error, /old_string/)
  assert.equal(await get('e.txt'), 'first\nsecond\n')
})

test('a patch of a long file with thousands of hits replaces all, and lists the first lines', async () => {
  await put('long.txt', 'a\n'.repeat(40_000))
  const result = await bench.run('patch', {
    path: 'long.txt',
    old_string: 'a\n',
    new_string: 'bb\n',
    replace_all: true,
  })
  assert.equal(result['replaced'], 40_000)
  assert.deepEqual(Array.isArray(result['lines']) && result['lines'].slice(0, 3), [1, 2, 3])
  assert.equal(await get('long.txt'), 'bb\n'.repeat(40_000))
})
