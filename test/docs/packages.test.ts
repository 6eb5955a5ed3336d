/**
 * docs/explanation/packages.md names versions and dependents as package-lock.json has them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asRecord } from '../../src/lib/json.ts'
import { textOf } from './repository.ts'

const locked = asRecord(asRecord(JSON.parse(textOf('package-lock.json')))['packages'])

test('each old package of the page is shipped in this version, and needed by the package that the page names', () => {
  const rows = [...textOf('docs/explanation/packages.md').matchAll(/^\| `([^`]+)` \| ([\d.]+) \| `([^`]+)` \|/gm)]
  assert.ok(rows.length >= 4)
  for (const [, name = '', version = '', dependent = ''] of rows) {
    const { version: installed, dev } = asRecord(locked[`node_modules/${name}`])
    assert.deepEqual([installed, dev], [version, undefined], name)
    assert.ok(name in asRecord(asRecord(locked[`node_modules/${dependent}`])['dependencies']), `${dependent}: ${name}`)
  }
})

test('the packages that the review named are explained, or are not shipped any more', () => {
  const page = textOf('docs/explanation/packages.md')
  for (const name of ['lodash', 'node-fetch', 'abort-controller', 'buffer-alloc'])
    assert.ok(!(`node_modules/${name}` in locked) || page.includes(`| \`${name}\` |`), name)
})
