/**
 * Which folders are hooks, in which order, and what is said of those that cannot be used.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { discoverHooks } from '../../src/hooks/discovery.ts'
import { type Files, writeFiles } from '../hosts/support.ts'
import { tempHome } from '../kit/temp-home.ts'

const yaml = 'events: [agent:end]\n'
const handler = 'def handle(event_type, context):\n    pass\n'

function discover(
  t: TestContext,
  files: Files,
  prepare: (root: string) => void = () => undefined,
  shipped: Files = {},
) {
  const home = tempHome(t)
  const root = join(home, 'hooks')
  const own = join(home, 'shipped')
  mkdirSync(root)
  writeFiles(root, files)
  writeFiles(own, shipped)
  prepare(root)
  const found = discoverHooks({
    roots: [
      { path: own, origin: 'shipped' },
      { path: root, origin: 'home' },
    ],
    eventIssue: () => undefined,
  })
  return { ...found, root }
}

/** The reason why the only folder cannot be used. */
function reason(t: TestContext, files: Files, prepare?: (root: string) => void): string {
  const { hooks, invalid, root } = discover(t, files, prepare)
  assert.deepEqual(hooks, [])
  assert.equal(invalid.length, 1)
  return invalid[0]?.reason.replaceAll(root, '<root>') ?? ''
}

test('a folder with HOOK.yaml and a handler is a hook; the shipped ones come first, then by path', (t) => {
  const { hooks, invalid } = discover(
    t,
    {
      'b/HOOK.yaml': yaml,
      'b/handler.py': handler,
      'a/HOOK.yaml': yaml,
      'a/handler.ts': 'export const handle = () => {}',
      'no-hook/readme.txt': 'hello',
      'file.txt': 'hello',
      '.hidden/HOOK.yaml': yaml,
      '__pycache__/HOOK.yaml': yaml,
    },
    undefined,
    { 'z/HOOK.yaml': yaml, 'z/handler.mjs': '' },
  )
  assert.deepEqual(
    hooks.map(({ id, language, origin }) => [id, language, origin]),
    [
      ['z', 'node', 'shipped'],
      ['a', 'node', 'home'],
      ['b', 'python', 'home'],
    ],
  )
  assert.deepEqual(invalid, [])
})

test('a missing hooks directory is treated like an empty one', () => {
  const roots = [{ path: '/nowhere/hooks', origin: 'home' as const }]
  assert.deepEqual(discoverHooks({ roots, eventIssue: () => undefined }), {
    hooks: [],
    invalid: [],
    warnings: [],
    folders: [],
  })
})

test('priority takes precedence over the path', (t) => {
  const { hooks } = discover(t, {
    'a/HOOK.yaml': yaml,
    'a/handler.py': handler,
    'b/HOOK.yaml': `${yaml}priority: 5\n`,
    'b/handler.py': handler,
    'c/HOOK.yaml': `${yaml}priority: -5\n`,
    'c/handler.py': handler,
  })
  assert.deepEqual(
    hooks.map(({ id }) => id),
    ['c', 'a', 'b'],
  )
})

test('a hook of the user replaces a shipped one of the same folder name', (t) => {
  const shipped = { 'boot-md/HOOK.yaml': yaml, 'boot-md/handler.js': '' }
  const { hooks } = discover(
    t,
    { 'boot-md/HOOK.yaml': `${yaml}enabled: false\n`, 'boot-md/handler.py': handler },
    undefined,
    shipped,
  )
  assert.deepEqual(
    hooks.map(({ id, origin, manifest }) => [id, origin, manifest.enabled]),
    [['boot-md', 'home', false]],
  )
})

test('two hooks of one name both run; the second is named after its folder', (t) => {
  const named = `name: same\n${yaml}`
  const { hooks, warnings } = discover(t, {
    'a/HOOK.yaml': named,
    'a/handler.py': handler,
    'b/HOOK.yaml': named,
    'b/handler.py': handler,
  })
  assert.deepEqual(
    hooks.map(({ id }) => id),
    ['same', 'b'],
  )
  assert.match(warnings.join(), /same.*\bb$/)
})

test('missing, ambiguous, binary and oversized handlers are reported', (t) => {
  assert.match(
    reason(t, { 'a/HOOK.yaml': yaml, 'a/handler.py': handler, 'a/handler.ts': '' }),
    /^<root>\/a: .*\bfound handler\.py .*handler\.ts$/,
  )
  assert.match(
    reason(t, { 'a/HOOK.yaml': yaml }),
    /^<root>\/a: expected .*handler\.ts.*handler\.js.*handler\.py.*\bfound none$/,
  )
  assert.match(reason(t, { 'a/HOOK.yaml': yaml, 'a/handler.py': Buffer.from([1, 0, 2]) }), /handler\.py: .*binary/)
  assert.match(reason(t, { 'a/HOOK.yaml': yaml, 'a/handler.js': ' '.repeat(5_300_000) }), /handler\.js: .*5242880/)
  assert.match(
    reason(t, { 'a/HOOK.yaml': yaml }, (root) => mkdirSync(join(root, 'a/handler.py'))),
    /handler\.py: expected a file/,
  )
})

test('manifests that are too large, not text or not files are reported', (t) => {
  const files = { 'a/handler.py': handler }
  assert.match(reason(t, { ...files, 'a/HOOK.yaml': '#'.repeat(10_000_000) }), /HOOK\.yaml: .*65536/)
  assert.match(reason(t, { ...files, 'a/HOOK.yaml': Buffer.from([0xff, 0xfe, 0x41]) }), /HOOK\.yaml: .*UTF-8/)
  assert.match(
    reason(t, files, (root) => mkdirSync(join(root, 'a/HOOK.yaml'))),
    /HOOK\.yaml: expected a file/,
  )
})

test('links out of the hooks directory are rejected; links within it are allowed', (t) => {
  const outside = tempHome(t)
  writeFiles(outside, { 'evil/HOOK.yaml': yaml, 'evil/handler.py': handler })
  const link = (target: string, name: string) => (root: string) => symlinkSync(join(outside, target), join(root, name))
  assert.match(reason(t, {}, link('evil', 'a')), /evil.* <root>/)
  assert.match(
    reason(t, { 'a/HOOK.yaml': yaml }, link('evil/handler.py', 'a/handler.py')),
    /handler\.py: .*outside.* <root>/,
  )
  assert.match(
    reason(t, { 'a/handler.py': handler }, link('evil/HOOK.yaml', 'a/HOOK.yaml')),
    /HOOK\.yaml: .*outside.* <root>/,
  )
  const within = discover(t, { 'a/HOOK.yaml': yaml, '.shared/handler.py': handler }, (root) =>
    symlinkSync(join(root, '.shared/handler.py'), join(root, 'a/handler.py')),
  )
  assert.equal(within.hooks.length, 1)
})

test('a world-writable folder or file is rejected with a fix', (t) => {
  const files = { 'a/HOOK.yaml': yaml, 'a/handler.py': handler }
  for (const open of ['a', 'a/handler.py', 'a/HOOK.yaml', '.']) {
    assert.match(
      reason(t, files, (root) => chmodSync(join(root, open), 0o777)),
      /\bchmod o-w /,
      open,
    )
  }
})

test('a hook is rejected if every user can write a file that its handler could import, and the file is named', (t) => {
  const names = ['a/words.js', 'a/lib/words.json', 'a/lib', 'a/node_modules']
  const files = { 'a/HOOK.yaml': yaml, 'a/handler.py': handler, 'a/words.js': '', 'a/lib/words.json': '{}' }
  const packages = { 'a/node_modules/package/index.js': '', 'a/activity.log': '' }
  for (const name of names) {
    const text = reason(t, { ...files, ...packages }, (root) => chmodSync(join(root, name), 0o777))
    assert.ok(text.startsWith(`<root>/${name}: `), text)
  }
  const { hooks } = discover(t, { ...files, ...packages }, (root) => {
    for (const name of ['a/node_modules/package/index.js', 'a/activity.log']) chmodSync(join(root, name), 0o666)
  })
  assert.equal(hooks.length, 1)
})

test('broken links and unreadable files do not affect other hooks', (t) => {
  const { hooks, invalid } = discover(t, { 'good/HOOK.yaml': yaml, 'good/handler.py': handler }, (root) => {
    symlinkSync(join(root, 'nothing'), join(root, 'dangling'))
    symlinkSync(join(root, 'round'), join(root, 'round'))
    mkdirSync(join(root, 'half'))
    writeFileSync(join(root, 'half/HOOK.yaml'), yaml)
    symlinkSync(join(root, 'nothing.py'), join(root, 'half/handler.py'))
  })
  assert.deepEqual(
    hooks.map(({ id }) => id),
    ['good'],
  )
  assert.deepEqual(invalid.map(({ id }) => id).sort(), ['half', 'round'])
})
