/**
 * Budgets of modules: which packages a process loads, and how many of our files. Each file costs a start about 0.3 ms and 50 kB. A
 * test that fails names the packages, or the files of the folder, among which is what was added. A larger number needs a reason
 * beside it, a smaller one is to be written down.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { childEnvironment } from '../kit/child-environment.ts'
import { daemonAllocator, daemonFlags } from '../kit/daemon-command.ts'
import { tempHome } from '../kit/temp-home.ts'

const root = new URL('../../', import.meta.url).href
const main = fileURLToPath(new URL('src/main.mjs', root))
const recorder = new URL('record-modules.mjs', import.meta.url).href

interface Budget {
  readonly packages: readonly string[]
  /** The number of files in each folder. A folder that is not listed is not loaded. */
  readonly files: Readonly<Record<string, number>>
}

const budgets = {
  // The checks of the Node, the compile cache and the resolver.
  'hermes --version': { packages: [], files: { 'src/cli': 2, 'src/config': 2, src: 1, 'src/packages': 4 } },
  // The declarations of all commands.
  'hermes --help': {
    packages: ['commander'],
    files: { 'src/cli': 21, 'src/config': 4, 'src/lib': 10, src: 1, 'src/packages': 4 },
  },
  // The configuration of all modules, the keys of models, and the queries for dead letters and refusals.
  'hermes status': {
    packages: ['commander', 'kysely', 'yaml', 'zod'],
    files: {
      'src/agent': 25,
      'src/app': 2,
      'src/approvals': 1,
      'src/cli': 31,
      'src/commands': 1,
      'src/config': 19,
      'src/cron': 1,
      'src/flows': 5,
      'src/hooks': 2,
      'src/http': 2,
      'src/inbox': 5,
      'src/lib': 28,
      src: 1,
      'src/media': 1,
      'src/message': 4,
      'src/outbox': 3,
      'src/packages': 4,
      'src/pairing': 4,
      'src/platforms': 4,
      'src/plugins': 1,
      'src/sessions': 2,
      'src/store': 9,
      'src/web': 2,
    },
  },
  // The configuration of all modules.
  'hermes config show': {
    packages: ['commander', 'yaml', 'zod'],
    files: {
      'src/agent': 19,
      'src/app': 2,
      'src/approvals': 1,
      'src/cli': 26,
      'src/commands': 1,
      'src/config': 20,
      'src/cron': 1,
      'src/flows': 2,
      'src/hooks': 2,
      'src/http': 2,
      'src/inbox': 1,
      'src/lib': 25,
      src: 1,
      'src/media': 1,
      'src/message': 2,
      'src/outbox': 1,
      'src/packages': 4,
      'src/platforms': 4,
      'src/plugins': 1,
      'src/sessions': 1,
      'src/web': 2,
    },
  },
  // The page and the API are connected. No model, no tool and no other platform is loaded.
  'an idle daemon': {
    packages: ['chokidar', 'commander', 'fastify', 'kysely', 'pino', 'yaml', 'zod'],
    files: {
      'platforms/acp': 1,
      'platforms/api_server': 2,
      'platforms/batch': 1,
      'platforms/console': 2,
      'platforms/web': 9,
      'src/agent': 39,
      'src/api': 6,
      'src/app': 17,
      'src/approvals': 8,
      'src/cli': 16,
      'src/commands': 9,
      'src/config': 19,
      'src/cron': 1,
      'src/engine': 2,
      'src/flows': 45,
      src: 4,
      'src/hooks': 29,
      'src/hosts': 2,
      'src/http': 13,
      'src/inbox': 12,
      'src/lib': 44,
      'src/media': 5,
      'src/message': 10,
      'src/middleware': 25,
      'src/outbox': 25,
      'src/packages': 4,
      'src/platforms': 9,
      'src/plugins': 21,
      'src/sessions': 8,
      // Each migration is a file.
      'src/store': 34,
      'src/web': 4,
    },
  },
} satisfies Readonly<Record<string, Budget>>

interface Modules {
  readonly packages: readonly string[]
  /** By folder, such as `src/cli`. */
  readonly files: Readonly<Partial<Record<string, readonly string[]>>>
}

function readModules(file: string): Modules {
  const paths = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .filter((url) => url.startsWith(root))
    .map((url) => url.slice(root.length))
    .sort()
  const packages = paths.flatMap((path) => packageOf(path) ?? [])
  const files = paths.filter((path) => /^(?:src|platforms|plugins|hooks)\//.test(path))
  return { packages: [...new Set(packages)], files: Object.groupBy(files, folderOf) }
}

/** Bundled packages are one file each; what several of them share has no name. */
function packageOf(path: string): string | undefined {
  const [, bundled] = /^node_modules\/\.hermes\/(?!chunk-)(.+)\.mjs$/.exec(path) ?? []
  const [, installed] = /^node_modules\/((?:@[^/]+\/)?[^./][^/]*)\//.exec(path) ?? []
  return bundled?.replace('__', '/') ?? installed
}

function folderOf(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/')
}

function assertWithin({ packages, files }: Modules, budget: Budget): void {
  const over = Object.entries(files).flatMap(([folder, paths = []]) => {
    const limit = budget.files[folder] ?? 0
    return paths.length > limit ? [{ folder, limit, count: paths.length, paths }] : []
  })
  const added = packages.filter((name) => !budget.packages.includes(name))
  assert.deepEqual({ packages: added, folders: over }, { packages: [], folders: [] })
}

interface Recording {
  readonly child: ChildProcess
  /** What was loaded until now. */
  modules(): Modules
}

function start(t: TestContext, args: readonly string[], flags: readonly string[] = []): Recording {
  const home = tempHome(t)
  const recorded = join(home, 'modules.txt')
  const child = spawn(process.execPath, ['--import', recorder, ...flags, main, ...args], {
    env: {
      ...childEnvironment(home),
      ...daemonAllocator,
      HERMES_HOME: home,
      HERMES_HTTP_PORT: '0',
      MODULES_FILE: recorded,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  return { child, modules: () => readModules(recorded) }
}

/** What has been loaded when nothing more was for half a second. */
async function settledModules(modules: () => Modules): Promise<Modules> {
  const now = modules()
  await setTimeout(500)
  return isDeepStrictEqual(modules(), now) ? now : await settledModules(modules)
}

async function modulesOfCommand(t: TestContext, ...args: readonly string[]): Promise<Modules> {
  const { child, modules } = start(t, args)
  child.stderr?.resume()
  await once(child, 'exit')
  return modules()
}

test('hermes --version loads what checks the Node and prints one line', async (t) => {
  assertWithin(await modulesOfCommand(t, '--version'), budgets['hermes --version'])
})

test('hermes --help loads the declarations of commands, and no schema', async (t) => {
  assertWithin(await modulesOfCommand(t, '--help'), budgets['hermes --help'])
})

test('hermes status loads the configuration and what reads a home', async (t) => {
  assertWithin(await modulesOfCommand(t, 'status'), budgets['hermes status'])
})

test('hermes config show loads the configuration', async (t) => {
  assertWithin(await modulesOfCommand(t, 'config', 'show'), budgets['hermes config show'])
})

test('an idle daemon has loaded neither a provider of models nor a platform that is not configured', async (t) => {
  const { child, modules } = start(t, ['gateway', 'run'], daemonFlags)
  assert.ok(child.stderr)
  for await (const line of createInterface({ input: child.stderr })) if (line.includes('"platform.connected"')) break
  assertWithin(await settledModules(modules), budgets['an idle daemon'])
})
