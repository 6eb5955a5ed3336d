/**
 * Bundles are used only if they contain the version of a package that the sources require.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { bundledPackages, bundledPackageUrls } from '../../src/packages/bundled-packages.mjs'
import { tempHome } from '../kit/temp-home.ts'

const dependencies = { zod: '4.6.7', '@slack/bolt': '5.1.0', kysely: '0.29.9' }

/** @param marker the content of the file `complete`; no file if omitted */
function bundledNames(t: TestContext, marker?: string): string[] {
  const folder = tempHome(t)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies }))
  if (marker !== undefined) writeFileSync(join(folder, 'complete'), marker)
  const urls = bundledPackageUrls(pathToFileURL(`${folder}/`), pathToFileURL(join(folder, 'package.json')))
  return [...urls].map(([name, url]) => `${name} ${url.slice(url.lastIndexOf('/') + 1)}`)
}

test('packages that are bundled in the required version are loaded from their bundle', (t) => {
  const names = bundledNames(t, JSON.stringify(dependencies))
  assert.deepEqual(names.sort(), ['@slack/bolt @slack__bolt.mjs', 'kysely kysely.mjs', 'zod zod.mjs'])
})

test('a package that was added or updated after bundling is loaded from node_modules', (t) => {
  assert.deepEqual(bundledNames(t, JSON.stringify({ zod: '4.6.7', kysely: '0.29.8' })), ['zod zod.mjs'])
})

test('if a file of the bundles is missing, all packages are loaded from node_modules', (t) => {
  assert.deepEqual(bundledNames(t, JSON.stringify({ ...dependencies, files: ['package.json'] })).length, 3)
  assert.deepEqual(bundledNames(t, JSON.stringify({ ...dependencies, files: ['package.json', 'chunk-1.mjs'] })), [])
})

test('without a valid marker no bundle is used', (t) => {
  assert.deepEqual(
    [undefined, '', '{', 'null', '[]'].flatMap((marker) => bundledNames(t, marker)),
    [],
  )
})

test('every bundled package has an exact version in package.json, as the marker has', () => {
  const { dependencies: required } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const inexact = bundledPackages.filter((name) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(required[name] ?? ''))
  assert.deepEqual(inexact, [])
})
