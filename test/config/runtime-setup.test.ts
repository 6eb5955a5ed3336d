/**
 * The compile cache that a start uses.
 */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempHome } from '../kit/temp-home.ts'

interface RuntimeSetupModule {
  runtimeSetup(
    process: Pick<NodeJS.Process, 'argv' | 'execArgv' | 'execPath' | 'env'>,
    installationCache: string,
  ): { readonly compileCache?: string }
}

// Plain JavaScript contains no types.
const runtimeSetupUrl = new URL('../../src/config/runtime-setup.mjs', import.meta.url).href
const { runtimeSetup }: RuntimeSetupModule = await import(runtimeSetupUrl)

const isRoot = process.getuid?.() === 0

function setup(env: NodeJS.ProcessEnv, installationCache: string, args: readonly string[] = ['gateway', 'run']) {
  return runtimeSetup(
    {
      argv: ['node', 'main.mjs', ...args],
      execArgv: ['--max-semi-space-size=4'],
      execPath: process.execPath,
      env,
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
  t.after(() => chmodSync(cache, 0o755))
  assert.equal(setup({ HERMES_HOME: home }, cache), join(home, 'cache', 'compile'))
  chmodSync(cache, 0o755)
  mkdirSync(join(cache, `${process.version}-x64-0-${process.getuid?.()}`))
  chmodSync(cache, 0o555)
  assert.equal(setup({ HERMES_HOME: home }, cache), cache)
})
