/**
 * The compile cache that a start uses.
 */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { daemonAllocator, daemonFlags } from '../kit/daemon-command.ts'
import { tempHome } from '../kit/temp-home.ts'

interface RuntimeSetupModule {
  runtimeSetup(
    process: Pick<NodeJS.Process, 'argv' | 'execArgv' | 'execPath' | 'env'>,
    installationCache: string,
  ): {
    readonly compileCache?: string
    readonly restartWith?: readonly string[]
    readonly environment: Readonly<Record<string, string>>
  }
}

// Plain JavaScript contains no types.
const runtimeSetupUrl = new URL('../../src/config/runtime-setup.mjs', import.meta.url).href
const { runtimeSetup }: RuntimeSetupModule = await import(runtimeSetupUrl)

const isRoot = process.getuid?.() === 0
const isWindows = process.platform === 'win32'

function setup(env: NodeJS.ProcessEnv, installationCache: string, args: readonly string[] = ['gateway', 'run']) {
  return runtimeSetup(
    {
      argv: ['node', 'main.mjs', ...args],
      execArgv: ['--max-semi-space-size=16'],
      execPath: process.execPath,
      env: { ...daemonAllocator, ...env },
    },
    installationCache,
  ).compileCache
}

test('the cache of the installation is used, unless the environment names a directory', (t) => {
  const home = tempHome(t)
  const cache = join(home, 'installation')
  mkdirSync(cache)
  assert.equal(setup({ HERMES_HOME: home }, cache), cache)
  assert.equal(setup({ HERMES_HOME: home }, cache, ['--version']), cache)
  assert.equal(setup({ HERMES_HOME: home, NODE_COMPILE_CACHE: '/elsewhere' }, cache), undefined)
})

test('the home has the cache if the installation has none', (t) => {
  const home = tempHome(t)
  assert.equal(setup({ HERMES_HOME: home }, join(home, 'missing')), join(home, 'cache', 'compile'))
  const absent = join(home, 'absent')
  assert.equal(setup({ HERMES_HOME: absent }, join(home, 'missing'), ['--version']), undefined)
  assert.equal(existsSync(absent), false)
  assert.equal(setup({ HERMES_HOME: absent }, join(home, 'missing')), join(absent, 'cache', 'compile'))
})

test('a read-only cache is used if it was filled for this user and this Node', { skip: isRoot }, (t) => {
  const home = tempHome(t)
  const cache = join(home, 'installation')
  mkdirSync(cache)
  chmodSync(cache, 0o555)
  assert.equal(setup({ HERMES_HOME: home }, cache), join(home, 'cache', 'compile'))
  chmodSync(cache, 0o755)
  mkdirSync(join(cache, `${process.version}-x64-0-${process.getuid?.()}`))
  chmodSync(cache, 0o555)
  assert.equal(setup({ HERMES_HOME: home }, cache), cache)
})

test('the cache of the home and that of the installation are private under any umask', { skip: isWindows }, (t) => {
  const home = tempHome(t)
  const cache = join(home, 'installation')
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
  mkdirSync(cache)
  assert.equal(statSync(cache).mode & 0o777, 0o777)
  assert.equal(setup({ HERMES_HOME: home }, cache), cache)
  const own = setup({ HERMES_HOME: home }, join(home, 'missing')) ?? ''
  for (const directory of [cache, own, join(home, 'cache')]) {
    assert.equal(statSync(directory).mode & 0o777, 0o700, directory)
  }
})

test('a cache of another user is used only if no other user can write it', { skip: !isRoot }, (t) => {
  const home = tempHome(t)
  const cache = join(home, 'installation')
  mkdirSync(cache)
  chownSync(cache, 12_345, 12_345)
  chmodSync(cache, 0o755)
  assert.equal(setup({ HERMES_HOME: home }, cache), cache)
  chmodSync(cache, 0o775)
  assert.equal(setup({ HERMES_HOME: home }, cache), join(home, 'cache', 'compile'))
})

test('the daemon starts with the flags and the allocator settings of `npm start` however it is started', () => {
  const start = (env: NodeJS.ProcessEnv, execArgv: readonly string[]) =>
    runtimeSetup(
      { argv: ['node', 'main.mjs', 'gateway', 'run'], execArgv: [...execArgv], execPath: 'node', env },
      '/missing',
    )
  const { restartWith, environment } = start({ HERMES_HOME: '/missing' }, [])
  assert.deepEqual(restartWith, ['node', ...daemonFlags, 'main.mjs', 'gateway', 'run'])
  assert.deepEqual(environment, { ...daemonAllocator, HERMES_HOME: '/missing' })
  assert.equal(start({ ...environment, NODE_COMPILE_CACHE: '/x' }, daemonFlags).restartWith, undefined)
  assert.deepEqual(start({ HERMES_HOME: '/missing' }, daemonFlags).restartWith, restartWith)
  assert.equal(start({ MALLOC_ARENA_MAX: '4' }, daemonFlags).environment['MALLOC_ARENA_MAX'], '4')
})
