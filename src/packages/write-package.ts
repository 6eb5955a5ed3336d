/**
 * Writes what is published (`npm pack`): `dist` with the compiled gateway and its files, and the manifest without what only
 * development needs. A package has no dependency that it cannot run without, because their bundles are in `dist`.
 *
 *     node src/packages/write-package.ts <folder>    the repository itself, or another folder
 */
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundlePackages } from './bundle-packages.mjs'
import { compile } from './compile.ts'
import { manifestValues } from './manifest-values.ts'
import { sdkTypes } from './sdk-declarations.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly repository?: unknown
  readonly engines: object
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: object
  readonly peerDependenciesMeta: object
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Files that are read at run time, and the program, which an old Node must be able to run. */
const copiedFiles = [
  'src/{main,config/node-version}.mjs',
  'src/agent/sandbox/inside/*.mjs',
  'src/**/*.{py,pl}',
  '{hooks,platforms,plugins}/**/*.yaml',
  'platforms/web/page/**/*.{css,html,js,svg}',
  'skills/**/*.*',
]

const pageFiles = ['katex/dist/katex.min.{js,css}', 'katex/dist/fonts/*.woff2', '@mermaid-js/tiny/dist/mermaid.tiny.js']

async function writePackage(folder: string): Promise<void> {
  const dist = join(folder, 'dist')
  rmSync(dist, { recursive: true, force: true })
  await compile(dist)
  await bundlePackages(join(dist, 'packages'))
  for (const file of globSync(copiedFiles, { cwd: root })) copy(join(root, file), join(dist, file))
  write(join(dist, 'packages/manifests.json'), manifestValues())
  copy(join(root, 'node_modules/marked/lib/marked.esm.js'), join(dist, 'packages/marked.mjs'))
  copy(join(root, 'node_modules/uqr/dist/index.mjs'), join(dist, 'packages/uqr.mjs'))
  copy(join(root, 'node_modules/uplot/dist/uPlot.iife.min.js'), join(dist, 'packages/uplot.mjs'))
  copy(join(root, 'node_modules/uplot/dist/uPlot.min.css'), join(dist, 'packages/uPlot.min.css'))
  // Only browsers run them: they stay as they are published.
  for (const file of globSync(pageFiles, { cwd: join(root, 'node_modules') }))
    copy(join(root, 'node_modules', file), join(dist, 'packages', file.replace(/^.*\/dist\//, '')))
  write(join(dist, 'types/sdk.d.ts'), sdkTypes())
  write(join(dist, 'types/index.d.ts'), `/// <reference path="./sdk.d.ts" />\nexport * from 'hermes-gateway:sdk'\n`)
  write(join(dist, 'LICENSES.txt'), licenses())
  copy(join(root, 'CHANGELOG.md'), join(dist, 'CHANGELOG.md'))
  write(join(dist, 'package.json'), json(innerManifest()))
  for (const name of ['README.md', 'LICENSE'])
    if (resolve(folder) !== resolve(root)) copy(join(root, name), join(folder, name))
  write(join(folder, 'package.json'), json(publishedManifest()))
}

/** The manifest that the code itself reads. */
function innerManifest(): object {
  const { name, version, dependencies } = manifest
  return { name, version, private: true, type: 'module', dependencies }
}

function publishedManifest(): object {
  const { name, version, description, license, repository, engines, peerDependencies, peerDependenciesMeta } = manifest
  const versions = { ...manifest.devDependencies, ...manifest.dependencies }
  const optional = ['@types/node', 'marked', 'playwright-core', 'zod']
  return {
    name,
    version,
    description,
    license,
    repository,
    type: 'module',
    engines,
    bin: { hermes: 'dist/src/main.mjs' },
    exports: {
      './sdk': { types: './dist/types/index.d.ts', default: './dist/src/sdk.mjs' },
      './package.json': './package.json',
    },
    files: ['dist'],
    // The browser tool, and the types that those of `#sdk` refer to. Nothing else misses them.
    optionalDependencies: Object.fromEntries(optional.map((each) => [each, versions[each]])),
    peerDependencies,
    peerDependenciesMeta,
  }
}

/** The licences of the packages whose code is in the bundles. */
function licenses(): string {
  const lock: { packages: Record<string, { version?: string; license?: string; dev?: true; optional?: true }> } =
    JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(lock.packages)
    .filter(([path, { dev, optional }]) => path !== '' && !dev && !optional && existsSync(join(root, path)))
    .map(([path, { version, license }]) => {
      const files = readdirSync(join(root, path)).filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name))
      const texts = files.map((name) => readFileSync(join(root, path, name), 'utf8').trim())
      return `${path.replace(/^.*node_modules\//, '')} ${version} (${license})\n\n${texts.join('\n\n')}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to)
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

await writePackage(process.argv[2] ?? root)
