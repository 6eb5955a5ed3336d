/**
 * Keeps the house clear: who may import whom (docs/explanation/architecture.md). Runs on the files themselves.
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
  readonly typeOnly: boolean
  /** Loaded when it is needed. */
  readonly later: boolean
}

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
      return { from, to, typeOnly: /^\s*type\b/.test(groups['clause'] ?? ''), later: groups['dynamic'] !== undefined }
    }),
  )
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

const ground = new Set(['lib', 'message', 'config', 'store'])

/** What joins modules: `gateway.ts` with `app/`, `turn.ts` with `flows/`. */
const wiring = /^src\/(app\/|flows\/|gateway\.ts$|turn\.ts$)/

function roomOf(path: string): string | undefined {
  return wiring.test(path) ? undefined : /^src\/([^/]+)\//.exec(path)?.[1]
}

/** What stands in the way of an import, or undefined. */
function violation({ from, to, typeOnly }: Import): string | undefined {
  const room = roomOf(from)
  const other = roomOf(to)
  if (/^(platforms|hooks|plugins)\//.test(from)) return outsiderViolation(from, to)
  if (wiring.test(from)) return wiringViolation(from, to, typeOnly)
  if (room === undefined || to === from) return doorViolation(from, to)
  if (wiring.test(to) && room !== 'cli') return typeOnly ? undefined : 'rooms do not know the wiring'
  if (other === undefined || other === room) return doorViolation(from, to)
  const order = ['lib', 'message', 'config', 'store']
  if (ground.has(room)) {
    const allowed =
      room === 'config' || room === 'store'
        ? other === 'lib' || other === 'message'
        : order.indexOf(other) < order.indexOf(room)
    return allowed || typeOnly ? undefined : `${room} lies below ${other}`
  }
  if (other === 'cli') return 'nothing imports cli'
  // The entry of a host is a program of its own: it sets the names up as main.mjs does.
  if (from.startsWith('src/hosts/node/') && other === 'packages') return undefined
  if (room === 'cli' || ground.has(other) || typeOnly) return undefined
  return `room ${room} imports a value of room ${other}`
}

/** The wiring may use every room; its own order is `flows` ← `turn.ts` ← `app`, `gateway.ts` ← `cli`. */
function wiringViolation(from: string, to: string, typeOnly: boolean): string | undefined {
  if (to.startsWith('src/cli/')) return 'nothing imports cli'
  const isFlow = /^src\/(flows\/|turn\.ts$)/.test(from)
  if (isFlow && /^src\/(app\/|gateway\.ts$)/.test(to) && !typeOnly) return 'flows lie below app'
  return doorViolation(from, to)
}

function outsiderViolation(from: string, to: string): string | undefined {
  const folder = from.split('/').slice(0, 2).join('/')
  if (to === '#sdk' || to === '#sdk/testing' || to.startsWith(`${folder}/`) || to.startsWith('node:')) return undefined
  if (to.startsWith('src/') || to.startsWith('platforms/')) return 'an outsider reaches into the engine: import #sdk'
  return doorViolation(from, to)
}

/** One door per package. */
const doors: Readonly<Record<string, RegExp>> = {
  yaml: /^src\/lib\/yaml/,
  pino: /^src\/lib\/log/,
  marked: /^src\/lib\/markdown|^platforms\/web\//,
  fastify: /^src\/http\//,
  openai: /^src\/agent\/models\//,
  '@anthropic-ai/sdk': /^src\/agent\/models\//,
  'ipaddr.js': /^src\/media\//,
  unbash: /^src\/agent\//,
  kysely: /^src\/store\//,
  'node:sqlite': /^src\/store\//,
  commander: /^src\/cli\//,
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

function doorViolation(from: string, to: string): string | undefined {
  const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? to)
  const door = doors[to] ?? doors[name]
  return door === undefined || door.test(from) ? undefined : `${to} has one door, and this is not it`
}

function violations(files: SourceFiles): string[] {
  return importsOf(files).flatMap((found) => {
    const reason = violation(found)
    return reason === undefined ? [] : [`${found.from} → ${found.to}: ${reason}`]
  })
}

/** A cycle of value imports, as the list of files it goes through; empty when there is none. */
function cycleIn(files: SourceFiles): string[] {
  const graph = new Map<string, string[]>()
  for (const { from, to, typeOnly } of importsOf(files)) {
    if (!typeOnly && files.has(to)) graph.set(from, [...(graph.get(from) ?? []), to])
  }
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return []
    for (const next of graph.get(file) ?? []) {
      const found = walk(next, [...path, file])
      if (found.length > 0) return found
    }
    done.add(file)
    return []
  }
  for (const file of files.keys()) {
    const found = walk(file, [])
    if (found.length > 0) return found
  }
  return []
}

/** Everything that is loaded together with a file, itself included. */
function loadedWith(files: SourceFiles, entry: string): Set<string> {
  const imports = Map.groupBy(importsOf(files), ({ from }) => from)
  const loaded = new Set([entry])
  // A set that grows while it is gone through hands out what was added, too.
  for (const file of loaded) {
    for (const { to, typeOnly, later } of imports.get(file) ?? []) if (!typeOnly && !later) loaded.add(to)
  }
  return loaded
}

const source = filesUnder('src', 'platforms', 'hooks', 'plugins')

test('the rules are checked on the real files', () => {
  assert.ok(source.size > 80, `only ${source.size} files were read`)
  assert.ok(importsOf(source).length > 200)
})

test('every import keeps to the house', () => {
  assert.deepEqual(violations(source), [])
})

test('the top of src is the route: what joins rooms stands in a folder', () => {
  const top = [...source.keys()].filter((path) => /^src\/[^/]+$/.test(path))
  assert.deepEqual(top, ['src/gateway.ts', 'src/main.mjs', 'src/sdk-deprecated.ts', 'src/sdk.ts', 'src/turn.ts'])
})

test('no value imports go in a circle', () => {
  assert.deepEqual(cycleIn(source), [])
})

test('each command of the command line brings along its own file and no other command', () => {
  const program = 'src/cli/program.ts'
  const commands = new Set(importsOf(source).flatMap(({ from, to, later }) => (from === program && later ? [to] : [])))
  assert.ok(commands.size > 8, `only ${commands.size} commands were found`)
  for (const entry of ['src/cli/main.ts', program, ...commands]) {
    const brought = [...loadedWith(source, entry)].filter((file) => commands.has(file))
    assert.deepEqual(brought, commands.has(entry) ? [entry] : [], entry)
  }
  assert.deepEqual([...loadedWith(source, 'src/cli/main.ts')], ['src/cli/main.ts', 'node:fs'])
})

test('what an idle gateway does not need is not loaded with it', () => {
  const loaded = loadedWith(source, 'src/gateway.ts')
  assert.ok(loaded.size > 80, `only ${loaded.size} files were followed`)
  const heavy =
    /^(openai|@anthropic-ai\/sdk|ipaddr\.js|marked|unbash|semver\/.*|platforms\/.*|plugins\/.*|src\/agent\/tools\/[^/]+|src\/cli\/.*|src\/app\/plugin-runtime\.ts|src\/plugins\/(loader|context|discovery|manifest|plugin-tools|plugin-state|version-range)\.ts)$/
  assert.deepEqual(
    [...loaded].filter((name) => heavy.test(name) && name !== 'src/agent/tools/parallel.ts'),
    [],
  )
})

test('the environment is read in config alone', () => {
  // Hooks run in processes of their own, whose environment is what the gateway gives them.
  const readers = [...source].filter(
    ([path, text]) => !/^(src\/config|hooks)\//.test(path) && withoutComments(text).includes('process.env'),
  )
  assert.deepEqual(
    readers.map(([path]) => path),
    [],
  )
})

test('no platform is named in the machine', () => {
  const names = /['"`](telegram|discord|slack|api_server)['"`]/
  const naming = [...source].filter(([path, text]) => path.startsWith('src/') && names.test(withoutComments(text)))
  assert.deepEqual(
    naming.map(([path]) => path),
    [],
  )
})

test('every file says what it is for before anything else', () => {
  const silent = [...source].filter(([, text]) => !/^(#!.*\n)?\/\*\*/.test(text))
  assert.deepEqual(
    silent.map(([path]) => path),
    [],
  )
})

test('a planted violation of each kind is found', () => {
  const planted = new Map([
    ['src/lib/planted.ts', "import { createStore } from '../store/store.ts'\n"],
    [
      'src/inbox/planted.ts',
      "import { prepare } from '../outbox/outbox.ts'\nimport type { Outbox } from '../outbox/outbox.ts'\n",
    ],
    ['src/agent/planted.ts', "import Fastify from 'fastify'\n"],
    ['src/http/planted.ts', "import { createGateway } from '../gateway.ts'\n"],
    [
      'src/sessions/planted.ts',
      "import { createAccountDirectory } from '../flows/account-directory.ts'\nimport type { Turn } from '../flows/turn/journal.ts'\nimport { finishTurn } from '../flows/turn/finish.ts'\n",
    ],
    [
      'src/flows/planted.ts',
      "import { composeCore } from '../app/compose-core.ts'\nimport type { Core } from '../app/compose-core.ts'\n",
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
      'src/inbox/planted.ts → src/outbox/outbox.ts',
      'src/agent/planted.ts → fastify',
      'src/http/planted.ts → src/gateway.ts',
      'src/sessions/planted.ts → src/flows/account-directory.ts',
      'src/sessions/planted.ts → src/flows/turn/finish.ts',
      'src/flows/planted.ts → src/app/compose-core.ts',
      'src/app/planted.ts → src/cli/main.ts',
      'src/app/planted.ts → fastify',
      'platforms/web/planted.ts → src/lib/errors.ts',
      'platforms/web/also.ts → openai',
      'src/message/planted.ts → src/config/load.ts',
    ],
  )
})

test('a planted circle is found', () => {
  const planted = new Map([
    ['src/lib/a.ts', "import { b } from './b.ts'\n"],
    ['src/lib/b.ts', "import { c } from './c.ts'\n"],
    ['src/lib/c.ts', "import { a } from './a.ts'\n"],
  ])
  assert.deepEqual(cycleIn(planted), ['src/lib/a.ts', 'src/lib/b.ts', 'src/lib/c.ts', 'src/lib/a.ts'])
})
