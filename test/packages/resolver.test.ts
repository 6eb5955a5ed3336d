/**
 * Files of a plugin that was edited are imported again together with its entry.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
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
    `import { writeFileSync } from 'node:fs'
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
