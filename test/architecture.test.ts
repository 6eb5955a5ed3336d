/**
 * Checks the layout of the source: which file may import which (docs/explanation/architecture.md). Type imports count.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

interface Import {
  readonly from: string
  /** A path from the root for our own files, else the bare name of the package. */
  readonly to: string
  /** Not loaded at run time; the layers and the cycle checks count it all the same. */
  readonly typeOnly: boolean
  /** Loaded when it is needed. */
  readonly isDynamic: boolean
}

test('a documentation comment stands directly above what it describes', () => {
  const orphans: string[] = []
  for (const [path, text] of filesUnder('src', 'platforms', 'plugins', 'hooks', 'test')) {
    // The page in the browser declares types in comments.
    if (!path.endsWith('.ts')) continue
    // The first comment describes the file.
    const lines = text.slice(text.indexOf('*/') + 2).split('\n')
    const before = text.split('\n').length - lines.length
    for (const [index, line] of lines.entries()) {
      const next = lines[index + 1]?.trim() ?? ''
      if (/^\s*(?:\/\*\*.*)?\*\/$/.test(line) && index > 0 && (next === '' || /^(?:\/\*\*|[)\]}])/.test(next)))
        orphans.push(`${path}:${before + index + 1}`)
    }
  }
  assert.deepEqual(orphans, [])
})

test('the listing of the architecture page has every folder of src and every platform', () => {
  const page = readFileSync(join(root, 'docs/explanation/architecture.md'), 'utf8')
  const [, listing = ''] = /```text\n([\s\S]*?)```/.exec(page) ?? []
  const foldersIn = (path: string) =>
    readdirSync(join(root, path)).filter((name) => statSync(join(root, path, name)).isDirectory())
  const missing = [
    ...foldersIn('src').filter((name) => !listing.includes(` ${name}/`)),
    ...foldersIn('platforms').filter((name) => !new RegExp(`\\b${name}\\b`).test(listing)),
  ]
  assert.deepEqual(missing, [])
  // A count of files is wrong after the next commit.
  assert.doesNotMatch(page, /\d (?:\w+ )?files\b/)
})

type SourceFiles = ReadonlyMap<string, string>

function filesUnder(...folders: string[]): SourceFiles {
  const found = new Map<string, string>()
  const visit = (path: string) => {
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name))
    else if (/\.(ts|mjs|js)$/.test(path))
      found.set(relative(root, path).replaceAll('\\', '/'), readFileSync(path, 'utf8'))
  }
  for (const folder of folders) visit(join(root, folder))
  return found
}

/** Imports and re-exports as the formatter writes them; comments cannot hide or fake one, strings at line starts do not occur. */
function importsOf(files: SourceFiles): Import[] {
  const statement =
    /^(?:import|export)\b(?<clause>[^'"`;]*?)\bfrom '(?<name>[^']+)'|^import '(?<bare>[^']+)'|\bimport\('(?<dynamic>[^']+)'\)/gm
  return [...files].flatMap(([from, text]) =>
    [...withoutComments(text).matchAll(statement)].map(({ groups = {} }) => {
      const name = groups['name'] ?? groups['bare'] ?? groups['dynamic'] ?? ''
      const to = name.startsWith('.') ? posix.normalize(posix.join(posix.dirname(from), name)) : name
      return {
        from,
        to,
        typeOnly: /^\s*type\b/.test(groups['clause'] ?? ''),
        isDynamic: groups['dynamic'] !== undefined,
      }
    }),
  )
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

/** From the bottom to the top. A file imports its own layer and the layers below it; `modules` are all other folders. */
const layers: readonly (readonly string[])[] = [
  ['lib'],
  ['message', 'config', 'store'],
  ['modules'],
  ['flows', 'turn.ts'],
  ['app', 'gateway.ts'],
  ['cli', 'main.mjs'],
]

/** The public API and the programs that set it up re-export or register files of several layers. */
const outsideLayers = new Set(['sdk.ts', 'sdk-deprecated.ts', 'packages'])

/** The folder of `src` that a file belongs to, or the file itself at the top of `src`. */
function moduleOf(path: string): string | undefined {
  return /^src\/([^/]+)/.exec(path)?.[1]
}

function layerOf(name: string): number {
  const layer = layers.findIndex((names) => names.includes(name))
  return layer === -1 ? layers.findIndex((names) => names.includes('modules')) : layer
}

function isModule(name: string): boolean {
  return layers[layerOf(name)]?.includes('modules') === true
}

/** Why an import is not allowed, or undefined. */
function violation({ from, to, typeOnly }: Import): string | undefined {
  if (/^(platforms|hooks|plugins)\//.test(from)) return outsiderViolation(from, to)
  const own = moduleOf(from)
  const other = moduleOf(to)
  if (own === undefined || other === undefined || own === other) return packageViolation(from, to)
  if (outsideLayers.has(own) || outsideLayers.has(other)) return undefined
  if (layerOf(other) > layerOf(own)) return `${other} is in a layer above ${own}`
  if (layerOf(own) === layerOf('message') && other !== 'lib' && !isSharedNoun(own, other))
    return `${own} and ${other} are independent of each other`
  // `turn.ts` is built of the turn steps in flows; no flow knows it.
  if (own === 'flows' && other === 'turn.ts') return 'flows do not import turn.ts'
  if (isModule(own) && isModule(other) && !typeOnly) return `module ${own} imports a value of module ${other}`
  return undefined
}

/** `config` and `store` may use the shared nouns. */
function isSharedNoun(own: string, other: string): boolean {
  return other === 'message' && own !== 'message'
}

function outsiderViolation(from: string, to: string): string | undefined {
  const folder = from.split('/').slice(0, 2).join('/')
  if (to === '#sdk' || to === '#sdk/testing' || to.startsWith(`${folder}/`) || to.startsWith('node:')) return undefined
  // Names of one adapter.
  if (/^platforms\/(?:acp|batch)\/adapter\.ts$/.test(from) && to === 'platforms/console/adapter.ts') return undefined
  if (to.startsWith('src/') || to.startsWith('platforms/')) return 'an extension imports #sdk only'
  return packageViolation(from, to)
}

/** Where each package may be imported. */
const packageSites: Readonly<Record<string, RegExp>> = {
  yaml: /^src\/lib\/yaml/,
  chokidar: /^src\/lib\/watch-files\.ts$/,
  'file-type': /^src\/media\/detect-file-type\.ts$/,
  pino: /^src\/lib\/log/,
  'pino-pretty': /^src\/lib\/log-terminal/,
  marked: /^src\/lib\/markdown|^platforms\/web\//,
  fastify: /^src\/http\//,
  'eventsource-parser': /^src\/agent\/models\//,
  openai: /^src\/agent\/models\//,
  '@anthropic-ai/sdk': /^src\/agent\/models\//,
  '@modelcontextprotocol/client': /^src\/agent\/mcp\//,
  '@modelcontextprotocol/server': /^src\/flows\/mcp-server\//,
  'ipaddr.js': /^src\/media\//,
  'playwright-core': /^src\/agent\/browser\//,
  unbash: /^src\/agent\//,
  kysely: /^src\/store\//,
  'node:sqlite': /^src\/store\/|^plugins\/memory\/local\//,
  commander: /^src\/cli\//,
  '@earendil-works/pi-tui': /^src\/cli\/tui\//,
  telegraf: /^platforms\/telegram\//,
  'discord.js': /^platforms\/discord\//,
  '@slack/bolt': /^platforms\/slack\//,
  esbuild: /^src\/packages\//,
  semver: /^src\/plugins\/version-range/,
  '@opentelemetry/api': /^plugins\/otel\//,
  '@opentelemetry/exporter-trace-otlp-http': /^plugins\/otel\//,
  '@opentelemetry/resources': /^plugins\/otel\//,
  '@opentelemetry/sdk-trace-node': /^plugins\/otel\//,
}

function packageViolation(from: string, to: string): string | undefined {
  const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? to)
  const sites = packageSites[to] ?? packageSites[name]
  return sites === undefined || sites.test(from) ? undefined : `${to} may not be imported here`
}

function violations(files: SourceFiles): string[] {
  return importsOf(files).flatMap((found) => {
    const reason = violation(found)
    return reason === undefined ? [] : [`${found.from} → ${found.to}: ${reason}`]
  })
}

/** Imports of one file by another, or of one module by another, type imports included. */
function importGraph(files: SourceFiles, nodeOf: (path: string) => string | undefined): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>()
  for (const { from, to } of importsOf(files)) {
    const [own, other] = [nodeOf(from), nodeOf(to)]
    if (own === undefined || other === undefined || own === other) continue
    graph.set(own, (graph.get(own) ?? new Set()).add(other))
  }
  return graph
}

/** The nodes of a cycle, the first one repeated at the end; empty when there is none. */
function cycleIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>()
  const walk = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return []
    for (const next of graph.get(node) ?? []) {
      const found = walk(next, [...path, node])
      if (found.length > 0) return found
    }
    done.add(node)
    return []
  }
  for (const node of graph.keys()) {
    const found = walk(node, [])
    if (found.length > 0) return found
  }
  return []
}

function fileCycle(files: SourceFiles): string[] {
  return cycleIn(importGraph(files, (path) => (files.has(path) ? path : undefined)))
}

/** `sdk.ts` and `packages` collect files of all modules. */
function moduleCycle(files: SourceFiles): string[] {
  return cycleIn(
    importGraph(files, (path) => {
      const name = moduleOf(path)
      return name === undefined || outsideLayers.has(name) ? undefined : name
    }),
  )
}

/** Everything that is loaded together with a file, itself included. */
function loadedWith(files: SourceFiles, entry: string): Set<string> {
  const imports = Map.groupBy(importsOf(files), ({ from }) => from)
  const loaded = new Set([entry])
  // Iteration over a set also visits elements that are added meanwhile.
  for (const file of loaded) {
    for (const { to, typeOnly, isDynamic } of imports.get(file) ?? []) if (!typeOnly && !isDynamic) loaded.add(to)
  }
  return loaded
}

const source = filesUnder('src', 'platforms', 'hooks', 'plugins')

test('the rules are checked on the real files', () => {
  assert.ok(source.size > 80, `only ${source.size} files were read`)
  assert.ok(importsOf(source).length > 200)
})

test('every import keeps to the layers, the modules and the places of packages', () => {
  assert.deepEqual(violations(source), [])
})

test('the top of src holds only the entries: gateway, turn, sdk and main', () => {
  const top = [...source.keys()].filter((path) => /^src\/[^/]+$/.test(path))
  assert.deepEqual(top, ['src/gateway.ts', 'src/main.mjs', 'src/sdk-deprecated.ts', 'src/sdk.ts', 'src/turn.ts'])
})

test('every package that runs is bundled: an image has no other', () => {
  const bundled = [...filesUnder('src/packages/bundled-packages.mjs').values()].join()
  const missing = importsOf(source).filter(({ from, to, typeOnly }) => {
    if (typeOnly || /^(src|platforms|hooks|plugins)\/|^node:|^#/.test(to)) return false
    // A page loads marked by itself, playwright-core is a bundle already, esbuild runs at installation, and OpenTelemetry is
    // installed by those who want it.
    if (['marked', 'playwright-core', 'esbuild'].includes(to) || to.startsWith('@opentelemetry/')) return false
    return from.endsWith('.ts') && !bundled.includes(`'${to}'`)
  })
  assert.deepEqual(missing, [])
})

test('no imports form a cycle, neither between files nor between modules', () => {
  assert.deepEqual(fileCycle(source), [])
  assert.deepEqual(moduleCycle(source), [])
})

test('all chat adapters share one shape', () => {
  const shape = [
    'README.md',
    'adapter.ts',
    'connection',
    'diagnose.ts',
    'errors.ts',
    'inbound',
    'options.ts',
    'outbound',
    'plugin.yaml',
  ]
  for (const name of ['telegram', 'discord', 'slack'])
    assert.deepEqual(readdirSync(join(root, 'platforms', name)).sort(), shape, name)
})

test('each command of the command line loads its own file and no other command', () => {
  const program = 'src/cli/program.ts'
  const defines = (file: string) => file.startsWith('src/cli/program/')
  const commands = new Set(
    importsOf(source).flatMap(({ from, to, isDynamic }) => (defines(from) && isDynamic ? [to] : [])),
  )
  assert.ok(commands.size > 8, `only ${commands.size} commands were found`)
  for (const entry of ['src/cli/main.ts', program, ...commands]) {
    const loadedCommands = [...loadedWith(source, entry)].filter((file) => commands.has(file))
    assert.deepEqual(loadedCommands, commands.has(entry) ? [entry] : [], entry)
  }
  assert.deepEqual([...loadedWith(source, 'src/cli/main.ts')], ['src/cli/main.ts', 'node:fs'])
})

test('what an idle gateway does not need is not loaded with it', () => {
  const loaded = loadedWith(source, 'src/gateway.ts')
  assert.ok(loaded.size > 80, `only ${loaded.size} files were followed`)
  const heavy =
    /^(openai|eventsource-parser|@anthropic-ai\/sdk|ipaddr\.js|marked|unbash|semver|platforms\/.*|plugins\/.*|src\/agent\/tools\/[^/]+|src\/cli\/.*|src\/app\/plugin-runtime\.ts|src\/plugins\/(loader|context|discovery|manifest|plugin-tools|plugin-state|version-range)\.ts)$/
  assert.deepEqual(
    [...loaded].filter((name) => heavy.test(name) && name !== 'src/agent/tools/parallel.ts'),
    [],
  )
})

test('the environment is read in config alone', () => {
  // Hooks and the programs in the sandbox run in processes of their own, whose environment is what the gateway gives them.
  const readers = [...source].filter(
    ([path, text]) =>
      !/^(src\/config|src\/agent\/sandbox\/inside|hooks)\//.test(path) && withoutComments(text).includes('process.env'),
  )
  assert.deepEqual(
    readers.map(([path]) => path),
    [],
  )
})

test('no entry point reads the database: it asks the gateway', () => {
  const isEntryPoint =
    /^(?:src\/cli\/(?:chat|endpoint|mcp-serve|acp)[\w-]*\.ts|src\/(?:cli\/(?:acp|batch|tui)|flows\/mcp-server)\/|platforms\/)/
  // The lock of a file is no part of the database.
  const isDatabase = /^src\/(?:sessions|inbox|outbox|store\/(?!sqlite\/lock\.ts$))/
  const entries = new Set([...source.keys()].filter((path) => isEntryPoint.test(path)))
  for (const name of ['src/cli/chat.ts', 'src/cli/mcp-serve.ts', 'src/cli/batch.ts', 'src/clients/tui/app.ts'])
    assert.ok(entries.has(name), `${name} is not checked`)
  const readers = importsOf(source).filter(({ from, to }) => entries.has(from) && isDatabase.test(to))
  assert.deepEqual(readers, [])
})

test('no platform is named in src', () => {
  const names = /['"`](telegram|discord|slack|api_server)['"`]/
  // These words have other meanings too, so that they are looked for in comparisons.
  const compared = /platform\s*[!=]==\s*['"`](?:cli|acp|web|webhook|batch)['"`]/
  const isNaming = (text: string) => names.test(text) || compared.test(text)
  const naming = [...source].filter(([path, text]) => path.startsWith('src/') && isNaming(withoutComments(text)))
  assert.deepEqual(
    naming.map(([path]) => path),
    [],
  )
})

test('the command policy imports only src/lib and its parser, so that it can become a package', () => {
  const folder = 'src/agent/command-policy/'
  const imports = importsOf(source).filter(({ from }) => from.startsWith(folder))
  assert.ok(imports.length > 20, `only ${imports.length} imports were found`)
  const foreign = imports.filter(({ to }) => !to.startsWith(folder) && !/^(?:node:|src\/lib\/|unbash$)/.test(to))
  assert.deepEqual(foreign, [])
})

test('every file starts with a header comment', () => {
  const withoutHeader = [...source].filter(([, text]) => !/^(#!.*\n)?\/\*\*/.test(text))
  assert.deepEqual(
    withoutHeader.map(([path]) => path),
    [],
  )
})

test('the check finds a planted violation of each kind', () => {
  const planted = new Map([
    ['src/lib/planted.ts', "import type { Store } from '../store/store.ts'\n"],
    ['src/config/planted.ts', "import type { Store } from '../store/store.ts'\n"],
    [
      'src/inbox/planted.ts',
      "import { prepare } from '../outbox/outbox.ts'\nimport type { Outbox } from '../outbox/outbox.ts'\n",
    ],
    ['src/agent/planted.ts', "import Fastify from 'fastify'\n"],
    ['src/http/planted.ts', "import type { Gateway } from '../gateway.ts'\n"],
    ['src/sessions/planted.ts', "import type { Claim } from '../flows/turn/claim.ts'\n"],
    [
      'src/flows/planted.ts',
      "import type { Core } from '../app/compose-core.ts'\nimport { createTurnRunner } from '../turn.ts'\n",
    ],
    ['src/app/planted.ts', "import { run } from '../cli/main.ts'\nimport Fastify from 'fastify'\n"],
    ['platforms/web/planted.ts', "import { HermesError } from '../../src/lib/errors.ts'\n"],
    ['platforms/web/also.ts', "const sdk = await import('openai')\n"],
    ['src/message/planted.ts', "// import { x } from '../cli/main.ts'\nexport * from '../config/load.ts'\n"],
  ])
  assert.deepEqual(
    violations(planted).map((line) => line.split(':')[0]),
    [
      'src/lib/planted.ts → src/store/store.ts',
      'src/config/planted.ts → src/store/store.ts',
      'src/inbox/planted.ts → src/outbox/outbox.ts',
      'src/agent/planted.ts → fastify',
      'src/http/planted.ts → src/gateway.ts',
      'src/sessions/planted.ts → src/flows/turn/claim.ts',
      'src/flows/planted.ts → src/app/compose-core.ts',
      'src/flows/planted.ts → src/turn.ts',
      'src/app/planted.ts → src/cli/main.ts',
      'src/app/planted.ts → fastify',
      'platforms/web/planted.ts → src/lib/errors.ts',
      'platforms/web/also.ts → openai',
      'src/message/planted.ts → src/config/load.ts',
    ],
  )
})

test('the check finds a planted cycle, also one of type imports', () => {
  const files = new Map([
    ['src/lib/a.ts', "import { b } from './b.ts'\n"],
    ['src/lib/b.ts', "import type { C } from './c.ts'\n"],
    ['src/lib/c.ts', "import { a } from './a.ts'\n"],
  ])
  assert.deepEqual(fileCycle(files), ['src/lib/a.ts', 'src/lib/b.ts', 'src/lib/c.ts', 'src/lib/a.ts'])
  const modules = new Map([
    ['src/inbox/a.ts', "import type { B } from '../outbox/b.ts'\n"],
    ['src/outbox/c.ts', "import type { D } from '../inbox/d.ts'\n"],
  ])
  assert.deepEqual(moduleCycle(modules), ['inbox', 'outbox', 'inbox'])
})
