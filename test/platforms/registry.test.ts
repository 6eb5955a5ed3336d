import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isHermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import { discoverPlatforms, loadPlatform } from '../../src/platforms/registry.ts'

const working = 'export default { createAdapter: () => ({ mark: import.meta.url }) }\n'

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'platforms-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a platform folder; `files` over the usual ones. */
async function platform(parent: string, folder: string, files: Record<string, string> = {}): Promise<string> {
  const directory = join(parent, folder)
  await mkdir(directory, { recursive: true })
  const all = { 'plugin.yaml': `name: ${folder}\nkind: platform\n`, ...files }
  for (const [name, text] of Object.entries(all)) await writeFile(join(directory, name), text)
  return directory
}

const discover = (...directories: string[]) => discoverPlatforms({ directories, log: silentLog })

test('platforms are found by their manifests and sorted by name, and their code is not run', async (t) => {
  const home = await temporary(t)
  const breaks = 'throw new Error("this must not run")\n'
  await platform(home, 'zulip', { 'adapter.ts': breaks })
  await platform(home, 'matrix', { 'adapter.mjs': breaks })
  await platform(home, 'irc', { 'adapter.js': breaks })
  const { platforms, invalid } = await discover(home)
  assert.deepEqual(
    platforms.map(({ name, adapterFile }) => [name, basename(adapterFile)]),
    [
      ['irc', 'adapter.js'],
      ['matrix', 'adapter.mjs'],
      ['zulip', 'adapter.ts'],
    ],
  )
  assert.deepEqual(invalid, [])
})

test('missing folders, folders without a manifest and other kinds of plugin are skipped without an issue', async (t) => {
  const home = await temporary(t)
  await mkdir(join(home, 'notes'))
  await writeFile(join(home, 'README.md'), 'hello')
  await platform(home, '__pycache__', { 'adapter.ts': working })
  await platform(home, '.git', { 'adapter.ts': working })
  await platform(home, 'memory', { 'plugin.yaml': 'name: memory\nkind: standalone\n' })
  assert.deepEqual(await discover(join(home, 'nowhere'), home, join(home, 'README.md')), { platforms: [], invalid: [] })
})

test('a folder of the user replaces a shipped folder of the same name', async (t) => {
  const shipped = await temporary(t)
  const own = await temporary(t)
  await platform(shipped, 'irc', { 'adapter.ts': working })
  const mine = await platform(own, 'irc', { 'adapter.ts': working })
  const { platforms } = await discover(shipped, own)
  assert.deepEqual(
    platforms.map(({ directory }) => directory),
    [mine],
  )
})

test('a folder with another name cannot use the name of an existing platform', async (t) => {
  const shipped = await temporary(t)
  const own = await temporary(t)
  const real = await platform(shipped, 'irc', { 'adapter.ts': working })
  const impostor = await platform(own, 'nice-games', {
    'plugin.yaml': 'name: irc\nkind: platform\n',
    'adapter.ts': working,
  })
  const { platforms, invalid } = await discover(shipped, own)
  assert.deepEqual(
    platforms.map(({ directory }) => directory),
    [real],
  )
  assert.equal(invalid[0]?.directory, impostor)
  assert.match(invalid[0]?.reason ?? '', /\birc\b/)
})

test('an invalid replacement leaves the shipped platform in use and is listed with its reason', async (t) => {
  const shipped = await temporary(t)
  const own = await temporary(t)
  const real = await platform(shipped, 'irc', { 'adapter.ts': working })
  await platform(own, 'irc', { 'plugin.yaml': 'name: irc\nkind: platform\naccess: all\n', 'adapter.ts': working })
  await platform(own, 'bare')
  const { platforms, invalid } = await discover(shipped, own)
  assert.deepEqual(
    platforms.map(({ directory }) => directory),
    [real],
  )
  assert.match(invalid[0]?.reason ?? '', /adapter\.ts/)
  // The directory is listed beside the reason.
  assert.ok(!invalid[0]?.reason.includes(own))
  assert.match(invalid[1]?.reason ?? '', /irc\/plugin\.yaml:3:9: access:/)
})

test('a symbolic link counts as a folder, and a dangling link is skipped', async (t) => {
  const home = await temporary(t)
  const elsewhere = await platform(await temporary(t), 'irc', { 'plugin.yml': 'ignored', 'adapter.ts': working })
  await symlink(elsewhere, join(home, 'irc'))
  await symlink(join(home, 'nowhere'), join(home, 'gone'))
  const { platforms, invalid } = await discover(home)
  assert.deepEqual(
    platforms.map(({ name }) => name),
    ['irc'],
  )
  assert.deepEqual(invalid, [])
})

test('an adapter is imported once, when it is loaded', async (t) => {
  const home = await temporary(t)
  await platform(home, 'irc', {
    'adapter.ts': `const mark: string = 'typed'\nexport default { createAdapter: () => mark }`,
  })
  const [irc] = (await discover(home)).platforms
  assert.ok(irc)
  const module = await loadPlatform(irc)
  assert.equal(typeof module.createAdapter, 'function')
  assert.equal(await loadPlatform(irc), module)
})

test('an adapter that cannot be imported or exports something else fails with the path of its file', async (t) => {
  const home = await temporary(t)
  await platform(home, 'throws', { 'adapter.mjs': 'throw new Error("no compiler")' })
  await platform(home, 'wrong', { 'adapter.mjs': 'export default class {}' })
  await platform(home, 'empty', { 'adapter.mjs': '' })
  await platform(home, 'syntax', { 'adapter.ts': 'enum A { b }' })
  const { platforms } = await discover(home)
  const expected: Record<string, RegExp> = {
    throws: /throws\/adapter\.mjs.*no compiler/,
    wrong: /wrong\/adapter\.mjs.*definePlatform/,
    empty: /empty\/adapter\.mjs/,
    syntax: /syntax\/adapter\.ts/,
  }
  for (const found of platforms) {
    await assert.rejects(loadPlatform(found), (error) => {
      assert.ok(isHermesError(error, 'platform/invalid'))
      assert.match(error.message, expected[found.name] ?? /never/)
      return true
    })
  }
  assert.equal(platforms.length, 4)
})

test('a platform can register itself like a plugin', async (t) => {
  const home = await temporary(t)
  const adapter = '{ createAdapter: () => "made" }'
  await platform(home, 'named', {
    'index.ts': `export const register = (ctx: any) => void ctx.registerPlatform(${adapter})`,
  })
  await platform(home, 'default', { 'index.mjs': `export default async (ctx) => { ctx.registerPlatform(${adapter}) }` })
  await platform(home, 'greedy', {
    'index.mjs': `export const register = (ctx) => ctx.registerHook('pre_tool_call', () => {})`,
  })
  await platform(home, 'idle', { 'index.mjs': 'export const register = () => undefined' })
  const { platforms, invalid } = await discover(home)
  assert.deepEqual(invalid, [])
  const found = (name: string) => platforms.find((one) => one.name === name) ?? assert.fail(name)
  for (const name of ['named', 'default']) {
    assert.equal(typeof (await loadPlatform(found(name))).createAdapter, 'function')
  }
  await assert.rejects(loadPlatform(found('greedy')), /ctx\.registerHook/)
  await assert.rejects(loadPlatform(found('idle')), (error) => isHermesError(error, 'platform/invalid'))
})

test('the shipped platforms are valid', async () => {
  const { platforms, invalid } = await discover(fileURLToPath(new URL('../../platforms', import.meta.url)))
  assert.deepEqual(invalid, [])
  assert.ok(platforms.some(({ name, gatewayEvents }) => name === 'cli' && !gatewayEvents))
})
