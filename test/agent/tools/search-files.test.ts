import assert from 'node:assert/strict'
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createFileSearch } from '../../../src/agent/environments/search/file-search.ts'
import { findProgram } from '../../../src/lib/find-program.ts'
import { createWorkbench, searchPath, type Workbench } from './workbench.ts'

const ripgrep = findProgram('rg', searchPath)

/** Both implementations must behave the same. An empty PATH has no ripgrep. */
for (const [name, path] of [
  ['ripgrep', searchPath],
  ['plain search', ''],
] as const) {
  const skip = name === 'ripgrep' && ripgrep === undefined ? 'ripgrep is not installed' : false

  test(`with ${name}`, { skip }, async (suite) => {
    const bench = await createWorkbench({ searchPath: path })
    suite.after(() => bench[Symbol.asyncDispose]())
    await fill(bench)
    const search = (args: Readonly<Record<string, unknown>>) => bench.run('search_files', args)

    await suite.test('matching lines are returned with path and number, in the order of their paths', async () => {
      assert.deepEqual(await search({ pattern: 'need[l]e' }), {
        matches: [
          '.github/ci.yml:1:needle hidden',
          'docs/a.md:2:a needle here',
          'src/a.ts:1:const needle = 1',
          'src/deep/b.ts:3:needle()',
        ].join('\n'),
        count: 4,
      })
    })

    await suite.test('a search can be limited to a directory, a file or a glob', async () => {
      assert.equal((await search({ pattern: 'needle', path: 'src/deep' }))['matches'], 'src/deep/b.ts:3:needle()')
      assert.equal((await search({ pattern: 'needle', path: 'docs/a.md' }))['matches'], 'docs/a.md:2:a needle here')
      assert.equal(
        (await search({ pattern: 'needle', file_glob: '*.{md,txt}' }))['matches'],
        'docs/a.md:2:a needle here',
      )
      assert.equal((await search({ pattern: 'needle', file_glob: 'src/**/*.ts' }))['count'], 2)
      const absolute = join(bench.cwd, 'docs')
      assert.equal((await search({ pattern: 'needle', path: absolute }))['matches'], `${absolute}/a.md:2:a needle here`)
    })

    await suite.test('files are found by name, including hidden ones', async () => {
      assert.deepEqual(await search({ pattern: '*.ts', target: 'files' }), {
        files: 'src/a.ts\nsrc/deep/b.ts',
        count: 2,
      })
      assert.equal((await search({ pattern: '*.yml', target: 'files' }))['files'], '.github/ci.yml')
      assert.equal((await search({ pattern: '**/deep/?.ts', target: 'files' }))['files'], 'src/deep/b.ts')
      assert.equal((await search({ pattern: '*.none', target: 'files' }))['count'], 0)
    })

    await suite.test('a search with many hits stops at the limit and reports it', async () => {
      const result = await search({ pattern: 'line', path: 'many.txt', limit: 3 })
      assert.equal(result['count'], 3)
      assert.ok('incomplete' in result)
      assert.equal((await search({ pattern: 'needle', limit: 4 }))['incomplete'], undefined)
    })

    await suite.test('a search can name the files alone, or count the lines of each', async () => {
      assert.deepEqual(await search({ pattern: 'needle|line', output_mode: 'files_only' }), {
        files: ['.github/ci.yml', 'docs/a.md', 'many.txt', 'src/a.ts', 'src/deep/b.ts'].join('\n'),
        count: 5,
      })
      assert.deepEqual(await search({ pattern: 'needle|line', output_mode: 'count' }), {
        matches: ['.github/ci.yml:1', 'docs/a.md:1', 'many.txt:100000', 'src/a.ts:1', 'src/deep/b.ts:1'].join('\n'),
        count: 100_004,
      })
      const some = await search({ pattern: 'needle', output_mode: 'files_only', limit: 1, offset: 1 })
      assert.deepEqual([some['files'], some['next_offset']], ['docs/a.md', 2])
    })

    await suite.test('offset goes on where the limit has stopped, until all hits are found', async () => {
      const first = await search({ pattern: 'needle', limit: 3 })
      assert.equal(first['next_offset'], 3)
      const rest = await search({ pattern: 'needle', limit: 3, offset: 3 })
      assert.deepEqual(rest, { matches: 'src/deep/b.ts:3:needle()', count: 1 })
      assert.equal((await search({ pattern: 'needle', offset: 4 }))['count'], 0)
      assert.equal((await search({ pattern: 'needle', offset: 10_001 }))['code'], 'offset_too_large')
    })

    await suite.test('lines around a hit are shown once, and do not count', async () => {
      const near = { path: 'near.txt', context: 1 }
      assert.deepEqual(await search({ pattern: 'hit', ...near }), {
        matches: [
          ...['near.txt-1-a', 'near.txt:2:hit b', 'near.txt-3-c', 'near.txt:4:hit d', 'near.txt-5-e'],
          ...['--', 'near.txt-7-g', 'near.txt:8:hit h'],
        ].join('\n'),
        count: 3,
      })
      const one = await search({ pattern: 'hit', ...near, limit: 2 })
      assert.equal(String(one['matches']).split('\n').at(-1), 'near.txt-5-e')
      assert.equal(one['count'], 2)
    })

    await suite.test('a long line is cut', async () => {
      const { matches } = await search({ pattern: 'begin', path: 'wide.txt' })
      assert.ok(String(matches).length < 600)
      assert.match(String(matches), /^wide.txt:1:begin x+ \[/)
    })

    await suite.test('an invalid pattern returns an error; a pattern may begin with a dash', async () => {
      assert.equal((await search({ pattern: '(open' }))['code'], 'invalid_pattern')
      assert.equal((await search({ pattern: '-needle' }))['count'], 0)
    })

    await suite.test('a missing path is named in the error', async () => {
      const { code, error } = await search({ pattern: 'x', path: 'missing' })
      assert.equal(code, 'not_found')
      assert.match(String(error), /missing/)
    })

    await suite.test('an aborted signal ends the search', async () => {
      const result = await bench.run('search_files', { pattern: 'needle' }, { signal: AbortSignal.abort() })
      assert.ok('incomplete' in result)
    })
  })
}

test('the name of a file shows hidden characters and is one line; the text of a line is exact', async () => {
  await using bench = await createWorkbench({ searchPath: '' })
  await writeFile(join(bench.cwd, 'a\u202eb\nkey.txt'), 'a\u200bneedle\n')
  const { matches } = await bench.run('search_files', { pattern: 'needle' })
  assert.equal(matches, 'a\\u202eb\\nkey.txt:1:a\u200bneedle')
  const { files } = await bench.run('search_files', { pattern: '*', target: 'files' })
  assert.equal(files, 'a\\u202eb\\nkey.txt')
})

test('a pattern that backtracks excessively cannot block the gateway', async () => {
  await using bench = await createWorkbench({ searchPath: '' })
  await writeFile(join(bench.cwd, 'a.txt'), `${'a'.repeat(50)}!`)
  const { error } = await bench.run('search_files', { pattern: '(a+)+$' })
  assert.notEqual(error, undefined)
})

async function fill({ cwd }: Workbench): Promise<void> {
  const files = {
    'src/a.ts': 'const needle = 1\n',
    'src/deep/b.ts': '\n\nneedle()\n',
    'docs/a.md': '# A\na needle here\n',
    '.github/ci.yml': 'needle hidden\n',
    '.git/config': 'needle\n',
    'node_modules/x/index.ts': 'needle\n',
    'data.bin': 'needle\0\n',
    'many.txt': 'line\n'.repeat(100_000),
    'near.txt': 'a\nhit b\nc\nhit d\ne\nf\ng\nhit h\n',
    'wide.txt': `begin ${'x'.repeat(5_000)}\n`,
  }
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, name)), { recursive: true })
    await writeFile(join(cwd, name), content)
  }
  await symlink(join(cwd, 'src'), join(cwd, 'loop'))
}

test('a link that replaces a file or a directory during a search is not followed', async () => {
  await using bench = await createWorkbench()
  const cwd = await realpath(bench.cwd)
  await mkdir(join(cwd, 'hidden'))
  await writeFile(join(cwd, 'hidden/key'), 'secret\n')
  await symlink(join(cwd, 'hidden'), join(cwd, 'directory'))
  await symlink(join(cwd, 'hidden/key'), join(cwd, 'file'))
  const search = createFileSearch({ target: 'content', pattern: 'secret', limit: 10 })
  const found = await Promise.all(['hidden/key', 'directory/key', 'file'].map((name) => search(join(cwd, name), name)))
  assert.deepEqual(
    found.map((hits) => hits.length),
    [1, 0, 0],
  )
})
