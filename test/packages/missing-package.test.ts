/**
 * An installation without its packages, or with damaged ones.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingPackageAdvice } from '../../src/packages/missing-package.mjs'
import { tempHome } from '../kit/temp-home.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A copy of the sources. */
function copySources(t: TestContext): string {
  const copy = tempHome(t)
  for (const name of ['src', 'package.json', 'platforms', 'plugins', 'hooks'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  return copy
}

function runStatus(copy: string) {
  const environment = { PATH: process.env['PATH'], HOME: copy, HERMES_HOME: join(copy, 'home') }
  const options = { env: environment, encoding: 'utf8', timeout: 60_000 } as const
  return spawnSync(process.execPath, [join(copy, 'src', 'main.mjs'), 'status'], options)
}

test('without installed packages, every command names the folder and the command that installs them', (t) => {
  const copy = copySources(t)
  const { status, stdout, stderr } = runStatus(copy)
  assert.deepEqual([status, stdout], [1, ''])
  assert.ok(stderr.includes(copy) && stderr.includes('npm ci'), stderr)
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
})

test('an installation whose bundles lack a file runs with the packages of node_modules', (t) => {
  const copy = copySources(t)
  mkdirSync(join(copy, 'node_modules', '.hermes'), { recursive: true })
  for (const name of ['commander', 'yaml', 'zod', 'kysely', 'semver', 'pino', 'chokidar', 'ipaddr.js'])
    symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name))
  const marker = { commander: '15.1.0', yaml: '2.9.1', zod: '4.6.7', files: ['commander.mjs'] }
  writeFileSync(join(copy, 'node_modules', '.hermes', 'complete'), JSON.stringify(marker))
  const { status, stderr } = runStatus(copy)
  assert.deepEqual([status, stderr], [3, ''])
})

test('only errors about packages get this advice', () => {
  const failure = (code: string, message: string) => Object.assign(new Error(message), { code })
  const missing = [
    failure('ERR_MODULE_NOT_FOUND', "Cannot find package 'zod' imported from /x/src/a.ts"),
    failure('ENOENT', "ENOENT: no such file or directory, open '/x/node_modules/.hermes/fastify.mjs'"),
  ]
  for (const error of missing) assert.match(missingPackageAdvice(error) ?? '', /npm ci/)
  const others = [failure('ENOENT', "ENOENT: no such file, open '/home/x/state.db'"), new Error('x'), undefined]
  for (const error of others) assert.equal(missingPackageAdvice(error), undefined)
})
