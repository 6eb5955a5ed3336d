/**
 * Files of a plugin that was edited are imported again together with its entry.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempHome } from '../kit/temp-home.ts'

const registerSdk = new URL('../kit/register-sdk.mjs', import.meta.url).href

test('a second import of an entry reads the files that it imports again, through every level', (t) => {
  const folder = tempHome(t)
  writeFileSync(join(folder, 'entry.ts'), `export { word } from './middle.ts'\n`)
  writeFileSync(join(folder, 'middle.ts'), `export { word } from './word.ts'\n`)
  writeFileSync(join(folder, 'word.ts'), `export const word: string = 'first'\n`)
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { mkdirSync, writeFileSync } from 'node:fs'
     const { word: one } = await import('./entry.ts')
     writeFileSync(new URL('./word.ts', import.meta.url), "export const word: string = 'second'")
     const { word: same } = await import('./entry.ts')
     const { word: two } = await import('./entry.ts?attempt=2')
     console.log([one, same, two].join(' '))`,
  )
  const printed = execFileSync(process.execPath, ['--import', registerSdk, join(folder, 'main.mjs')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  assert.equal(printed.trim(), 'first first second')
})

test('a file of the gateway that is missing is named in the error', async (t) => {
  const folder = tempHome(t)
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'src', 'entry.ts'), `import './missing.ts'\n`)
  const { message } = await importWithin(folder)
  assert.match(message, /missing\.ts/)
})

test('a file of the gateway is the same module for a relative path and for an absolute one', async (t) => {
  const folder = tempHome(t)
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'src', 'state.ts'), `export const state: { count: number } = { count: 0 }\n`)
  writeFileSync(
    join(folder, 'src', 'entry.ts'),
    `import { state } from './state.ts'
     const same = await import(new URL('./state.ts', import.meta.url).href)
     if (same.state !== state) throw new Error('two modules')\n`,
  )
  assert.deepEqual(await importWithin(folder), { message: '' })
})

/** Imports `src/entry.ts` of a folder as a file of an installation there. `message` is empty if that works. */
async function importWithin(folder: string): Promise<{ message: string }> {
  mkdirSync(join(folder, 'src', 'packages'))
  copyFileSync(new URL('../../src/packages/resolver.mjs', import.meta.url), join(folder, 'src/packages/resolver.mjs'))
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { registerHooks } from 'node:module'
     import { createResolver } from './src/packages/resolver.mjs'
     registerHooks({ resolve: createResolver(new Map()) })
     await import('./src/entry.ts').catch((error) => process.stdout.write(error.message))`,
  )
  return {
    message: execFileSync(process.execPath, [join(folder, 'main.mjs')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  }
}
