/**
 * A Node that is too old explains itself. Uses an old Node of this machine, if there is one.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { mainFile } from './support.ts'

interface NodeVersionModule {
  nodeVersionProblem(version: string): string | undefined
}

// Plain JavaScript contains no types.
const moduleUrl = new URL('../../src/config/node-version.mjs', import.meta.url).href
const { nodeVersionProblem }: NodeVersionModule = await import(moduleUrl)

function findOldNode(): string | undefined {
  const directories = [...(process.env['PATH'] ?? '').split(':'), '/usr/bin', '/usr/local/bin']
  return directories
    .map((directory) => join(directory, 'node'))
    .filter((file) => existsSync(file))
    .find((file) => {
      const version = spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1)
      return Number(version.split('.')[0]) >= 16 && nodeVersionProblem(version) !== undefined
    })
}

const oldNode = findOldNode()

test('Node before 24.15 is refused', () => {
  const refused = ['16.20.2', '20.20.2', '24.14.9', '24.15.0', '24.21.0', '25.0.0'].map(
    (version) => nodeVersionProblem(version) !== undefined,
  )
  assert.deepEqual(refused, [true, true, true, false, false, false])
})

test('an old Node prints the explanation instead of a syntax error', { skip: oldNode === undefined }, () => {
  const { status, stderr, stdout } = spawnSync(oldNode ?? '', [mainFile, '--version'], { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [1, ''])
  assert.ok(stderr.includes('24.15') && stderr.includes('npm ci'), stderr)
  assert.doesNotMatch(stderr, /SyntaxError|at file:/)
})

test('before the check of the version only files are loaded that import nothing newer', () => {
  const visited = new Set<string>()
  const visit = (file: string) => {
    if (visited.has(file)) return
    visited.add(file)
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(/^import .* from '([^']+)'$/gm)) {
      if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier))
      else assert.equal(specifier, 'node:process')
    }
  }
  visit(mainFile)
  assert.equal(visited.size, 2)
})
