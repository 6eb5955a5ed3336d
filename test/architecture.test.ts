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
  /** Type imports are not loaded at run time; the layers and the cycle checks count it all the same. */
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

/**
 * The folders of `src` and the files at its top, from the bottom to the top. A file imports its own folder and what stands in a
 * line above its own: neither a folder of the same line nor one below.
 */
const moduleOrder: readonly (readonly string[])[] = [
  ['lib'],
  ['message', 'config'],
  ['store', 'middleware', 'hosts', 'pairing', 'engine'],
  ['hooks', 'web', 'commands', 'cron', 'inbox'],
  ['platforms'],
  ['media', 'outbox', 'http'],
  ['sessions'],
  ['agent'],
  ['approvals'],
  ['plugins'],
  ['flows'],
  ['turn.ts', 'api'],
  ['clients'],
  ['app'],
  ['gateway.ts'],
  ['cli'],
  ['main.mjs'],
]

/** The same for the folders and files of a large folder. What is not listed stands at its top, and may not be imported by what is. */
const folderOrder: Readonly<Record<string, readonly (readonly string[])[]>> = {
  agent: [
    ['support', 'command-policy', 'sandbox', 'browser', 'checkpoints', 'tool-views', 'system-prompt.ts'],
    ['models', 'context-files'],
    ['environments', 'compression'],
    ['code', 'skills', 'memory', 'media'],
    ['tools', 'config.ts'],
    ['toolsets'],
    ['loop', 'mcp'],
  ],
  flows: [
    ['sessions', 'models', 'environments', 'events', 'compression', 'trace', 'settings'],
    ['access', 'mcp'],
    ['delivery'],
    ['turn', 'tools', 'cron'],
    ['approvals', 'busy', 'chat', 'tasks', 'prompt'],
    ['platform', 'plugins'],
    ['lifecycle'],
    ['commands'],
  ],
  api: [['shapes', 'services.ts'], ['route.ts'], ['handlers'], ['routes']],
  cli: [['kit'], ['shared', 'service'], ['checks', 'import'], ['profiles', 'models']],
  clients: [
    ['chat', 'mcp-server'],
    ['acp', 'batch', 'tui'],
  ],
}

/** The public API and the programs that set it up re-export or register files of several modules. */
const outsideOrder = new Set(['sdk.ts', 'packages'])

/** What clients import of other folders: routes without their handlers, and plain functions. */
const ofClients = /^src\/(?:lib|message)\/|^src\/api\/(?:client\.ts|endpoint\.ts|routes\/|shapes\/)/

/** The folder of `src` that a file belongs to, or the file itself at the top of `src`. */
function moduleOf(path: string): string | undefined {
  return /^src\/([^/]+)/.exec(path)?.[1]
}

/** Why an import is not allowed, or undefined. */
function violation({ from, to }: Import): string | undefined {
  if (/^(platforms|hooks|plugins)\//.test(from)) return outsiderViolation(from, to)
  const [own, other] = [moduleOf(from), moduleOf(to)]
  if (own === undefined || other === undefined) return packageViolation(from, to)
  if (own === other) return folderViolation(own, from, to)
  if (outsideOrder.has(own) || outsideOrder.has(other)) return undefined
  if (own === 'clients' && !ofClients.test(to)) return 'a client imports api, lib and message only'
  return orderViolation(moduleOrder, own, other)
}

/** The order of the folders in one folder of `src`. */
function folderViolation(module: string, from: string, to: string): string | undefined {
  const order = folderOrder[module]
  if (order === undefined) return undefined
  const entryOf = (path: string) => path.split('/')[2] ?? ''
  const [own, other] = [entryOf(from), entryOf(to)]
  return own === other ? undefined : orderViolation(order, own, other, order.length)
}

/** @param unlisted the line of what the order does not name */
function orderViolation(
  order: readonly (readonly string[])[],
  own: string,
  other: string,
  unlisted = -1,
): string | undefined {
  const lineOf = (name: string) => {
    const line = order.findIndex((names) => names.includes(name))
    return line === -1 ? unlisted : line
  }
  if (lineOf(own) === -1 || lineOf(other) === -1) return 'the order names no such folder'
  if (lineOf(own) > lineOf(other)) return undefined
  if (lineOf(own) === unlisted && lineOf(other) === unlisted) return undefined
  return lineOf(own) === lineOf(other) ? `${own} and ${other} are independent` : `${other} is above ${own}`
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
  diff: /^src\/agent\/tools\/support\/unified-diff\.ts$/,
  fastify: /^src\/http\//,
  'eventsource-parser': /^src\/agent\/models\//,
  openai: /^src\/agent\/models\//,
  '@modelcontextprotocol/client': /^src\/agent\/mcp\//,
  '@modelcontextprotocol/server': /^src\/clients\/mcp-server\//,
  'ipaddr.js': /^src\/media\//,
  'playwright-core': /^src\/agent\/browser\//,
  unbash: /^src\/agent\//,
  kysely: /^src\/store\//,
  'node:sqlite': /^src\/store\/|^plugins\/memory\/local\//,
  commander: /^src\/cli\//,
  '@earendil-works/pi-tui': /^src\/(?:clients\/tui\/|cli\/tui\.ts$)/,
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
      return name === undefined || outsideOrder.has(name) ? undefined : name
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
  assert.deepEqual(top, ['src/gateway.ts', 'src/main.mjs', 'src/sdk.ts', 'src/turn.ts'])
})

test('every package that runs is bundled: an image has no other', () => {
  const bundled = [...filesUnder('src/packages/bundled-packages.mjs').values()].join()
  const missing = importsOf(source).filter(({ from, to, typeOnly }) => {
    if (typeOnly || /^(src|platforms|hooks|plugins)\/|^node:|^#/.test(to)) return false
    // Pages load marked and uqr as they are, playwright-core is a bundle already, esbuild runs at installation, and OpenTelemetry is
    // installed by those who want it.
    if (['marked', 'uqr', 'playwright-core', 'esbuild'].includes(to) || to.startsWith('@opentelemetry/')) return false
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
    'account.ts',
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
    /^(openai|eventsource-parser|ipaddr\.js|marked|unbash|semver|platforms\/.*|plugins\/.*|src\/agent\/tools\/[^/]+|src\/cli\/.*|src\/app\/plugin-runtime\.ts|src\/plugins\/(loader|context|discovery|manifest|plugin-tools|plugin-state|version-range)\.ts)$/
  assert.deepEqual(
    [...loaded].filter((name) => heavy.test(name) && name !== 'src/agent/tools/parallel.ts'),
    [],
  )
})

/** Lines that a file may not have, by rule. */
const rules: Readonly<Record<string, { readonly pattern: RegExp; readonly except: RegExp }>> = {
  'the environment is read in config alone': {
    pattern:
      /\bprocess(?:\?\.|\.)env\b|\bprocess(?:\?\.)?\[['"`]env['"`]\]|\benv\b[^{}\n]*\} = (?:globalThis\.)?process\b|\benv\b[^}\n]*\} from 'node:process'/,
    // Hooks and the programs in the sandbox run in processes of their own, whose environment is what the gateway gives them.
    except: /^(?:src\/config|src\/agent\/sandbox\/inside|hooks)\//,
  },
  'no module holds state': {
    pattern:
      /^(?:export )?(?:let|var) |^(?:export )?const \w+(?:: (?!.*\breadonly\b)[^=\n]+)? = (?:new (?:Map|Set|WeakMap|WeakSet|AsyncLocalStorage)\b[^(\n]*\(\)|\[\]|\{\}|(?:lazy|createLruCache|createMemo)(?:<.*>)?\(.*)$/m,
    // Programs of threads and of other processes are alone. The values of manifests are a file of the installation, and the parser of
    // Markdown is a package. Pages are read one after the other, because the limit of memory is that of the process. The others never
    // change.
    except:
      /-(?:thread|worker)\.ts$|^src\/(?:hosts\/node|agent\/sandbox\/inside)\/|^src\/lib\/(?:manifest-yaml|markdown)\.ts$|^src\/web\/read-page\.ts$|^src\/middleware\/call-run\.ts$|^platforms\/(?:telegram|slack)\/inbound\/payload\.ts$|^platforms\/web\/page\//,
  },
  'nothing happens on import': {
    // A line that ends with `() {` begins a function of a shell script in a template.
    pattern: /^(?:[\w$]+(?:\.[\w$]+)*\((?!\) \{$)|await |void |new |for (?:await )?\(|if \(|while \(|process\.)/m,
    except:
      /-(?:thread|worker|child)\.(?:ts|mjs)$|^src\/(?:main|hosts\/node\/[\w-]+|agent\/sandbox\/inside\/[\w-]+)\.mjs$|^src\/packages\/write-(?:sdk-types|manifest-values|package)\.ts$|^platforms\/web\/page\//,
  },
  // Elsewhere a fact about a provider is a member of its entry in the catalogue. The import names the providers of other products,
  // and the offline demonstration is no vendor.
  'no provider is compared with a name outside of the models': {
    pattern: /(?<!typeof )\bprovider(?:Name)?\s*[!=]==\s*['"`](?!main\b|auto\b|demo\b|none\b)[a-z]/,
    except: /^src\/(?:agent\/(?:models|media)|cli\/import)\//,
  },
  'only a commit ends the parts of a transaction': {
    pattern: /\.(?:committed|rolledBack)(?:\?\.)?\(/,
    except: /^src\/store\/(?:commit|query)\.ts$/,
  },
}

function brokenRule(rule: string, files: SourceFiles): string[] {
  const { pattern, except } = rules[rule] ?? assert.fail(`there is no rule "${rule}"`)
  return [...files].flatMap(([path, text]) => (!except.test(path) && pattern.test(withoutComments(text)) ? [path] : []))
}

for (const rule of Object.keys(rules)) test(rule, () => assert.deepEqual(brokenRule(rule, source), []))

test('each rule about lines finds planted violations', () => {
  const planted: Readonly<Record<string, readonly string[]>> = {
    'the environment is read in config alone': [
      'const home = process.env.HOME',
      "const home = process['env']['HOME']",
      'const { env } = process',
      "import { env } from 'node:process'",
      "import { argv, env as variables } from 'node:process'",
    ],
    'no module holds state': [
      'let count = 0',
      'export let count = 0',
      'const seen = new Map<string, number>()',
      'const seen: Set<string> = new Set()',
      'const waiting: string[] = []',
      'const values = lazy(() => read())',
      'const known = createLruCache<true>(100)',
    ],
    'nothing happens on import': ['start()', 'registry.register(tool)', 'await load()', "process.on('exit', stop)"],
    'no provider is compared with a name outside of the models': ["const isUsed = provider === 'openai'"],
    'only a commit ends the parts of a transaction': ['  reply.committed()', '  ack?.rolledBack?.()'],
  }
  assert.deepEqual(Object.keys(planted), Object.keys(rules))
  for (const [rule, lines] of Object.entries(planted)) {
    for (const line of lines) {
      const files = new Map([['src/lib/planted.ts', `/** A file. */\n${line}\n`]])
      assert.deepEqual(brokenRule(rule, files), ['src/lib/planted.ts'], line)
    }
  }
})

test('a client loads the routes of the API without their handlers', () => {
  const allowed =
    /^src\/(?:clients|api|lib|message|packages)\/|^src\/flows\/(?:events\/(?:shapes|api-event)|delivery\/send-body|cron\/job-actions)\.ts$/
  const clients = [...source.keys()].filter((path) => path.startsWith('src/clients/'))
  assert.ok(clients.length > 40, `only ${clients.length} files of clients`)
  const loaded = new Set(clients.flatMap((path) => [...loadedWith(source, path)]))
  const foreign = [...loaded].filter((path) => path.startsWith('src/') && !allowed.test(path))
  assert.deepEqual(foreign, [])
  assert.deepEqual(
    [...loaded].filter((path) => path.startsWith('src/api/handlers/')),
    [],
  )
})

test('no entry point reads the database: it asks the gateway', () => {
  const isEntryPoint = /^(?:src\/cli\/(?:chat|mcp-serve|acp|tui|batch)[\w-]*\.ts|src\/clients\/|platforms\/)/
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
    ['src/inbox/planted.ts', "import { prepare } from '../outbox/outbox.ts'\n"],
    [
      'src/outbox/planted.ts',
      "import { prepare } from '../inbox/inbox.ts'\nimport { upload } from '../media/uploads.ts'\n",
    ],
    ['src/agent/planted.ts', "import Fastify from 'fastify'\n"],
    ['src/agent/support/planted.ts', "import type { Provider } from '../models/provider.ts'\n"],
    ['src/agent/skills/planted.ts', "import type { MemoryAccess } from '../memory/contract.ts'\n"],
    ['src/agent/models/planted.ts', "import { runAgent } from '../agent.ts'\n"],
    ['src/flows/turn/planted.ts', "import { dispatch } from '../commands/command-dispatcher.ts'\n"],
    ['src/http/planted.ts', "import type { Gateway } from '../gateway.ts'\n"],
    ['src/sessions/planted.ts', "import type { Claim } from '../flows/turn/claim.ts'\n"],
    [
      'src/flows/planted.ts',
      "import type { Core } from '../app/compose-core.ts'\nimport { createTurnRunner } from '../turn.ts'\n",
    ],
    ['src/nowhere/planted.ts', "import { messageOf } from '../lib/errors.ts'\n"],
    ['src/cli/kit/planted.ts', "import { run } from '../doctor.ts'\n"],
    ['src/app/planted.ts', "import { run } from '../cli/main.ts'\nimport Fastify from 'fastify'\n"],
    ['src/clients/chat/planted.ts', "import { toSingleLine } from '../../cli/kit/display.ts'\n"],
    ['src/clients/tui/planted.ts', "import type { Store } from '../../store/store.ts'\n"],
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
      'src/outbox/planted.ts → src/media/uploads.ts',
      'src/agent/planted.ts → fastify',
      'src/agent/support/planted.ts → src/agent/models/provider.ts',
      'src/agent/skills/planted.ts → src/agent/memory/contract.ts',
      'src/agent/models/planted.ts → src/agent/agent.ts',
      'src/flows/turn/planted.ts → src/flows/commands/command-dispatcher.ts',
      'src/http/planted.ts → src/gateway.ts',
      'src/sessions/planted.ts → src/flows/turn/claim.ts',
      'src/flows/planted.ts → src/app/compose-core.ts',
      'src/flows/planted.ts → src/turn.ts',
      'src/nowhere/planted.ts → src/lib/errors.ts',
      'src/cli/kit/planted.ts → src/cli/doctor.ts',
      'src/app/planted.ts → src/cli/main.ts',
      'src/app/planted.ts → fastify',
      'src/clients/chat/planted.ts → src/cli/kit/display.ts',
      'src/clients/tui/planted.ts → src/store/store.ts',
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
