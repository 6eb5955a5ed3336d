/**
 * Which folders are plugins, and which cannot be used and why.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { discoverPlugins } from '../../src/plugins/discovery.ts'
import { tempHome } from '../kit/temp-home.ts'
import { type Files, pluginFiles, writeFiles } from './loader-support.ts'

function found(t: TestContext, home: Files, bundled: Files = {}, prepare: (root: string) => void = () => undefined) {
  const root = tempHome(t)
  writeFiles(join(root, 'bundled'), bundled)
  writeFiles(join(root, 'plugins'), home)
  prepare(root)
  const discovery = discoverPlugins([
    { path: join(root, 'bundled'), origin: 'bundled' },
    { path: join(root, 'plugins'), origin: 'home' },
  ])
  const reasons = Object.fromEntries(discovery.invalid.map(({ id, reason }) => [id, reason.replaceAll(root, '')]))
  return { plugins: discovery.plugins, ids: discovery.plugins.map(({ id }) => id), reasons }
}

test('a folder with a manifest is a plugin, also one level deeper; everything else is ignored', (t) => {
  const { ids, reasons } = found(t, {
    ...pluginFiles('flat', ''),
    ...pluginFiles('observability/otel', ''),
    ...pluginFiles('too/deep/here', ''),
    ...pluginFiles('.hidden', ''),
    ...pluginFiles('__pycache__', ''),
    ...pluginFiles('node_modules/package', ''),
    ...pluginFiles('platforms/matrix', '', 'name: matrix\nkind: platform\n'),
    'notes/readme.md': 'nothing',
    'file.txt': 'nothing',
    'second/plugin.yml': 'name: second\n',
    'second/index.mjs': '',
    'snake/plugin.yaml': 'name: snake\n',
    'snake/__init__.py': '',
  })
  assert.deepEqual(ids, ['flat', 'observability/otel', 'second', 'snake'])
  assert.deepEqual(reasons, {})
})

test('a folder in the home replaces a bundled plugin of the same id, even if it is invalid', (t) => {
  const { plugins, ids, reasons } = found(
    t,
    { ...pluginFiles('mine', ''), 'broken/plugin.yaml': 'name: [\n' },
    { ...pluginFiles('mine', ''), ...pluginFiles('broken', ''), ...pluginFiles('theirs', '') },
  )
  assert.deepEqual(ids, ['mine', 'theirs'])
  assert.deepEqual(
    plugins.map(({ origin }) => origin),
    ['home', 'bundled'],
  )
  assert.match(reasons['broken'] ?? '', /^\/plugins\/broken\/plugin\.yaml:\d+:\d+: /)
})

test('unusable folders are listed with the reason', (t) => {
  const { reasons, ids } = found(
    t,
    {
      'no-entry/plugin.yaml': 'name: a\n',
      'two-entries/plugin.yaml': 'name: a\n',
      'two-entries/index.js': '',
      'two-entries/index.ts': '',
      'huge/plugin.yaml': `name: a\ndescription: ${'x'.repeat(10 * 1_048_576)}\n`,
      'huge/index.js': '',
      'bytes/index.js': '',
      'a platform/plugin.yaml': 'name: a\n',
      'a platform/index.js': '',
      ...pluginFiles('chat', '', 'name: chat\nkind: platform\n'),
      ...pluginFiles('open', ''),
    },
    {},
    (root) => {
      writeFileSync(join(root, 'plugins/bytes/plugin.yaml'), new Uint8Array([0xff, 0xfe, 0x00]))
      mkdirSync(join(root, 'plugins/folder/plugin.yaml'), { recursive: true })
      chmodSync(join(root, 'plugins/open'), 0o777)
      writeFiles(join(root, 'elsewhere'), pluginFiles('code', ''))
      symlinkSync(join(root, 'elsewhere/code'), join(root, 'plugins/linked'))
      symlinkSync(join(root, 'elsewhere'), join(root, 'plugins/category'))
      symlinkSync(join(root, 'nowhere'), join(root, 'plugins/dangling'))
    },
  )
  assert.deepEqual(ids, [])
  assert.deepEqual(Object.keys(reasons).sort(), [
    'a platform',
    'bytes',
    'category/code',
    'chat',
    'folder',
    'huge',
    'linked',
    'no-entry',
    'open',
    'two-entries',
  ])
  assert.match(reasons['no-entry'] ?? '', /\/no-entry: .*index\.ts.*index\.js.*__init__\.py/)
  assert.match(reasons['two-entries'] ?? '', /\bindex\.js\b.*\bindex\.ts$/)
  assert.match(reasons['huge'] ?? '', /\/huge\/plugin\.yaml: .*\b65536\b/)
  assert.match(reasons['bytes'] ?? '', /\/bytes\/plugin\.yaml: .*\bUTF-8\b/)
  assert.match(reasons['folder'] ?? '', /^\/plugins\/folder\/plugin\.yaml: /)
  assert.match(reasons['chat'] ?? '', /platforms\//)
  assert.match(reasons['open'] ?? '', /chmod o-w /)
  assert.match(reasons['linked'] ?? '', /elsewhere/)
  assert.match(reasons['category/code'] ?? '', /elsewhere/)
})

test('directories that do not exist are ignored', () => {
  assert.deepEqual(discoverPlugins([{ path: '/nowhere/at/all', origin: 'home' }]), {
    plugins: [],
    invalid: [],
    warnings: [],
  })
})

test('a plugin is rejected if every user can write a file that it could import, and the file is named', (t) => {
  const files = { ...pluginFiles('one', ''), 'one/lib/words.ts': '', 'one/notes.txt': '' }
  const { reasons } = found(t, files, {}, (root) => chmodSync(join(root, 'plugins/one/lib/words.ts'), 0o666))
  assert.ok(reasons['one']?.startsWith('/plugins/one/lib/words.ts: '))
  const { ids } = found(t, files, {}, (root) => chmodSync(join(root, 'plugins/one/notes.txt'), 0o666))
  assert.deepEqual(ids, ['one'])
})

test('a plugin with very many files that can be imported is rejected, but installed packages do not count', (t) => {
  const many = (directory: string) =>
    Object.fromEntries(Array.from({ length: 2_100 }, (_, index) => [`${directory}/${index}.js`, '']))
  assert.ok('one' in found(t, { ...pluginFiles('one', ''), ...many('one/lib') }).reasons)
  assert.deepEqual(found(t, { ...pluginFiles('one', ''), ...many('one/node_modules') }).ids, ['one'])
})
