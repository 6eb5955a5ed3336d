/**
 * Loading handlers: each one fails on its own and says where, and the host knows which files they consist of.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Host } from '../../src/hosts/contract.ts'
import { tempHome } from '../kit/temp-home.ts'
import { createTestHost, expectFailure, expectValue, timeout, withoutPython } from './support.ts'

async function loadFailureMessage(host: Host, module: string): Promise<string> {
  const failure = expectFailure(await host.load(module))
  assert.deepEqual([failure.kind, failure.started], ['unloadable', false], failure.error.message)
  return failure.error.message
}

async function loadedFiles(host: Host, module: string, folder: string): Promise<string[]> {
  const loaded = await host.load(module)
  const files = loaded.ok ? loaded.value.files : loaded.failure.files
  return files.map((file) => file.replace(`${folder}/`, '')).sort()
}

describe('a module in JavaScript or TypeScript', { timeout }, () => {
  it('that cannot be loaded is reported with file and line, and affects no other', async (t) => {
    const { host, folder } = createTestHost(t, {
      files: {
        'good.ts': 'export const handle = (): string => "good"',
        'module.js': 'export function handle() {\n  const x = ;\n}',
        'common.cjs': 'module.exports = {\n  handle() { return 1 }\n',
        'typed.ts': 'const x = 1\nexport const handle = (x: ) => x',
        'enum.ts': '\nenum Colour { Red }\nexport const handle = () => Colour.Red',
        'throws.mjs': 'export const handle = () => 1\n\nthrow new Error("no token")',
        'helped/handler.mjs': 'import { x } from "./helper.mjs"\nexport const handle = () => x',
        'helped/helper.mjs': 'export const x = 1\nlet let = 2',
        'package.mjs': 'import nothing from "no-such-package"\nexport const handle = nothing',
        'nothing.mjs': 'export const other = () => 1\nexport const handle = "text"',
        'binary.js': new Uint8Array([0, 1, 2, 255, 254, 10]),
      },
    })
    assert.match(
      await loadFailureMessage(host, 'module'),
      /module: .*\/module\.js:2: SyntaxError: Unexpected token ';'/,
    )
    assert.match(await loadFailureMessage(host, 'common'), /\/common\.cjs:\d: SyntaxError: Unexpected end of input/)
    assert.match(await loadFailureMessage(host, 'typed'), /\/typed\.ts:2: /)
    assert.match(await loadFailureMessage(host, 'enum'), /\/enum\.ts:2: .*\benum\b/)
    assert.match(await loadFailureMessage(host, 'throws'), /\/throws\.mjs:3: Error: no token/)
    assert.match(await loadFailureMessage(host, 'helped'), /\/helper\.mjs:2: SyntaxError/)
    assert.match(await loadFailureMessage(host, 'package'), /\/package\.mjs.*Cannot find package 'no-such-package'/)
    assert.match(await loadFailureMessage(host, 'nothing'), /\/nothing\.mjs: .*\bhandle\b.*\bother$/)
    assert.match(await loadFailureMessage(host, 'binary'), /\/binary\.js/)
    assert.equal(expectValue(await host.call({ module: 'good', args: [] })), 'good')
    assert.equal(host.status().starts, 1)
    assert.deepEqual(await loadedFiles(host, 'helped', folder), ['helped/handler.mjs', 'helped/helper.mjs'])
  })

  it('consists of the files it imported, and of no package', async (t) => {
    const { host, folder } = createTestHost(t, {
      files: {
        'one/handler.ts':
          'import "./a.ts"\nimport "a-package"\nimport "#sdk"\nexport const handle = () => import("./b.mjs")',
        'one/a.ts': 'import "../shared.mjs"\nexport type A = number',
        'one/b.mjs': '',
        'two/handler.cjs': 'require("../shared.mjs")\nexports.handle = () => 2',
        'shared.mjs': 'export const shared = 1',
        'node_modules/a-package/package.json': '{ "main": "main.js" }',
        'node_modules/a-package/main.js': '',
      },
    })
    assert.deepEqual(await loadedFiles(host, 'one', folder), ['one/a.ts', 'one/handler.ts', 'shared.mjs'])
    assert.deepEqual(await loadedFiles(host, 'two', folder), ['shared.mjs', 'two/handler.cjs'])
  })

  it('has its types stripped once, in a separate process, and again after a change', async (t) => {
    const files = {
      'a.ts': 'import { add } from "./add.ts"\nexport const handle = (a: number, b: number): number => add(a, b)',
      'add.ts': 'export const add = (a: number, b: number): number => a + b',
    }
    const cacheFolder = join(tempHome(t), 'cache')
    const { host } = createTestHost(t, { files, cacheFolder })
    const call = async () => expectValue(await host.call({ module: 'a', args: [1, 2] }))
    assert.equal(await call(), 3)
    const cached = readdirSync(cacheFolder)
    assert.equal(cached.length, 2)
    await host.stop()

    // What is in the cache is what runs.
    const add = cached.find((name) => readFileSync(join(cacheFolder, name), 'utf8').startsWith('export const add'))
    writeFileSync(join(cacheFolder, add ?? ''), 'export const add = () => "cached"')
    const again = createTestHost(t, { files, cacheFolder })
    assert.equal(expectValue(await again.host.call({ module: 'a', args: [1, 2] })), 'cached')

    const changed = createTestHost(t, {
      files: { ...files, 'add.ts': 'export const add = (): number => 5' },
      cacheFolder,
    })
    assert.equal(expectValue(await changed.host.call({ module: 'a', args: [1, 2] })), 5)
  })

  it('runs also if the cache cannot be written', async (t) => {
    const files = { 'a.ts': 'export const handle = (a: number): number => a + 1' }
    const { host } = createTestHost(t, { files, cacheFolder: '/proc/nowhere' })
    assert.equal(expectValue(await host.call({ module: 'a', args: [1] })), 2)
  })

  it('has the lines of its source in a stack', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'a.ts': 'interface Wide {\n  a: number\n}\nexport const handle = (x: Wide) => {\n  throw new Error("here")\n}',
      },
    })
    assert.match(expectFailure(await host.call({ module: 'a', args: [{}] })).stack, /\/a\.ts:5:9/)
  })
})

describe('a module in Python', { skip: withoutPython, timeout }, () => {
  it('that cannot be loaded is reported with file and line, and affects no other', async (t) => {
    const { host, folder } = createTestHost(t, {
      files: {
        'good.py': 'def handle():\n    return "good"',
        'syntax.py': 'def handle():\n    x = = 1',
        'throws.py': 'def handle(): pass\n\nraise RuntimeError("no token")',
        'exits.py': 'import sys\nsys.exit(1)',
        'helped/handler.py': 'import broken\ndef handle(): pass',
        'helped/broken.py': 'x = 1\ny = (',
        'package.py': 'def handle(): pass\nimport no_such_package',
        'nothing.py': 'handle = "text"',
        'binary.py': new Uint8Array([0, 1, 2, 255, 254, 10]),
      },
    })
    assert.match(await loadFailureMessage(host, 'syntax'), /syntax: .*\/syntax\.py:2: SyntaxError: invalid syntax/)
    assert.match(await loadFailureMessage(host, 'throws'), /\/throws\.py:3: RuntimeError: no token/)
    assert.match(await loadFailureMessage(host, 'exits'), /\/exits\.py:2: .*sys\.exit\(1\)/)
    assert.match(await loadFailureMessage(host, 'helped'), /\/broken\.py:2: SyntaxError/)
    assert.match(await loadFailureMessage(host, 'package'), /\/package\.py:2: ModuleNotFoundError: .*'no_such_package'/)
    assert.match(await loadFailureMessage(host, 'nothing'), /\/nothing\.py: .*\bhandle\b/)
    assert.match(await loadFailureMessage(host, 'binary'), /\/binary\.py/)
    assert.equal(expectValue(await host.call({ module: 'good', args: [] })), 'good')
    assert.equal(host.status().starts, 1)
    assert.deepEqual(await loadedFiles(host, 'helped', folder), ['helped/broken.py', 'helped/handler.py'])
  })

  it('consists of itself and what it imported from its own folder', async (t) => {
    const { host, folder } = createTestHost(t, {
      env: (home) => ({ PYTHONPATH: join(home, 'elsewhere') }),
      files: {
        'one/handler.py': 'import json, helper, outside\ndef handle(): pass',
        'one/helper.py': 'import part.inner',
        'one/part/__init__.py': '',
        'one/part/inner.py': '',
        'one/unused.py': '',
        'elsewhere/outside.py': '',
      },
    })
    const expected = ['one/handler.py', 'one/helper.py', 'one/part/__init__.py', 'one/part/inner.py']
    assert.deepEqual(await loadedFiles(host, 'one', folder), expected)
  })

  it('leaves no compiled files behind', async (t) => {
    const { host, folder } = createTestHost(t, {
      files: { 'one/handler.py': 'import helper\ndef handle(): pass', 'one/helper.py': '' },
    })
    await host.load('one')
    assert.deepEqual(readdirSync(join(folder, 'one')).sort(), ['handler.py', 'helper.py'])
  })
})

const hanging = {
  node: {
    skip: false as const,
    bad: 'bad.mjs',
    hangs: 'await new Promise(() => {})',
    exits: 'process.exit(4)',
    good: 'good.mjs',
    text: 'export const handle = () => "good"',
  },
  python: {
    skip: withoutPython,
    bad: 'bad.py',
    hangs: 'import time\ntime.sleep(1000)',
    exits: 'import os\nos._exit(4)',
    good: 'good.py',
    text: 'def handle():\n    return "good"',
  },
}

for (const [language, variant] of Object.entries(hanging)) {
  describe(`a module in ${language}`, { skip: variant.skip, timeout }, () => {
    it('that never finishes loading is killed, and the calls that wait behind it succeed', async (t) => {
      const files = { [variant.bad]: variant.hangs, [variant.good]: variant.text }
      const { host } = createTestHost(t, { files, limits: { loadTimeoutMs: 150 } })
      const [bad, good] = await Promise.all([host.load('bad'), host.call({ module: 'good', args: [] })])
      const failure = expectFailure(bad)
      assert.deepEqual([failure.kind, failure.killed, failure.started], ['unloadable', true, false])
      assert.equal(failure.error.code, 'hosts/unloadable')
      assert.equal(expectValue(good), 'good')
    })

    it('that ends the process while it loads does not fail the calls that wait behind it', async (t) => {
      const { host } = createTestHost(t, { files: { [variant.bad]: variant.exits, [variant.good]: variant.text } })
      const [bad, good] = await Promise.all([host.load('bad'), host.call({ module: 'good', args: [] })])
      const failure = expectFailure(bad)
      assert.deepEqual([failure.kind, failure.attribution, failure.started], ['died', 'own', false])
      assert.match(failure.error.message, /\b4\b/)
      assert.equal(expectValue(good), 'good')
      assert.equal(host.status().starts, 2)
    })

    it('that was removed or never existed is reported by its name', async (t) => {
      const { host, folder } = createTestHost(t, { files: { [variant.good]: variant.text } })
      rmSync(join(folder, variant.good))
      assert.match(await loadFailureMessage(host, 'good'), new RegExp(variant.good.replace('.', '\\.')))
      assert.match(await loadFailureMessage(host, 'absent'), /\babsent\b/)
    })
  })
}
