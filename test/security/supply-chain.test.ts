/**
 * What is installed and built: fixed versions with checksums, no scripts of strangers, and a list of all parts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { parseYaml } from '../../src/lib/yaml.ts'
import { filesOf, textOf } from '../docs/repository.ts'

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
})
const manifestSchema = z.object({
  scripts: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
  allowScripts: z.record(z.string(), z.boolean()).optional(),
})
const { packages } = lockSchema.parse(JSON.parse(textOf('package-lock.json')))
const manifest = manifestSchema.parse(JSON.parse(textOf('package.json')))
const installed = Object.entries(packages).filter(([path]) => path !== '')

test('every package has a checksum of SHA-512', () => {
  assert.ok(installed.length > 50)
  for (const [path, { integrity = '', resolved = '' }] of installed) {
    assert.match(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, path)
    if (resolved !== '') assert.match(resolved, /^https:\/\//, path)
  }
})

test('every version is exact', () => {
  const { dependencies, devDependencies, optionalDependencies } = manifest
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }))
    assert.match(version, /^\d+\.\d+\.\d+(?:-[\w.]+)?$/, name)
})

test('no script of a package runs during the installation unless package.json names it', () => {
  assert.match(textOf('.npmrc'), /^strict-allow-scripts=true$/m)
  const named = Object.keys(manifest.allowScripts ?? {})
  const unnamed = installed.filter(
    ([path, { hasInstallScript }]) =>
      hasInstallScript === true &&
      !named.some((name) => path.endsWith(`node_modules/${name.replace(/(?<=.)@.*$/, '')}`)),
  )
  assert.deepEqual(
    unnamed.map(([path]) => path),
    [],
  )
})

test('the build may read the repository only, and stores a list of all parts', () => {
  const workflows = filesOf('.github/workflows').map((path) => ({ path, ...parseYaml(textOf(path), path) }))
  assert.ok(workflows.length > 0)
  for (const { path, value, issues } of workflows) {
    assert.deepEqual(issues, [], path)
    const { permissions } = z.looseObject({ permissions: z.record(z.string(), z.string()) }).parse(value)
    assert.deepEqual(permissions, { contents: 'read' }, path)
  }
  assert.match(manifest.scripts['sbom'] ?? '', /^npm sbom .*--sbom-format cyclonedx/)
  assert.match(textOf('.github/workflows/ci.yml'), /npm run --silent sbom > sbom\.cdx\.json/)
})

test('the image is built on a base that is named by its digest', () => {
  assert.match(textOf('Dockerfile'), /^ARG NODE=\S+@sha256:[0-9a-f]{64}$/m)
  const bases = textOf('Dockerfile').match(/^FROM \S+/gm) ?? []
  assert.equal(bases.length, 2)
  for (const base of bases) assert.match(base, /^FROM node:\$\{NODE\}$/)
})
