/**
 * Hooks in all languages under a stream of events, while their files are edited and, if asked for, their processes killed:
 * every event is handled once, or counted as failed.
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as breath } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { hooksConfig } from '../../src/hooks/config.ts'
import { noPluginEvents } from '../../src/hooks/plugin-events.ts'
import { createHookRegistry, type HookRegistry } from '../../src/hooks/registry.ts'
import { createHost } from '../../src/hosts/host.ts'
import { silentLog } from '../../src/lib/log.ts'
import { hookEventNames } from '../../src/message/hook-events.ts'
import { path, python, writeFiles } from '../hosts/support.ts'
import { strippedTypesDirectory } from '../kit/compile-cache.ts'
import { createRandom } from '../proof/random.ts'
import { agentStart, hookYaml } from './support.ts'

export interface SoakOptions {
  readonly events: number
  /** The number of edits of files while events come. */
  readonly edits: number
  /** The number of kills of processes while events come. */
  readonly kills: number
  readonly seed: number
  readonly progress?: (line: string) => void
}

export interface SoakResult {
  readonly hooks: readonly {
    readonly name: string
    readonly handled: number
    readonly failed: number
    readonly dropped: number
    readonly doubled: number
    readonly outOfOrder: number
    /** Emitted, and neither handled nor counted. */
    readonly lost: number
  }[]
  readonly edits: number
  readonly kills: number
  /** The growth of this process between the first fifth and the end, MB. */
  readonly heapGrowthMb: number
  readonly seconds: number
}

/** Fewer than what a line of a hook holds. */
const burstSize = 100

/** Each handler writes down which events it got; the comment is what an edit changes. */
function handlers(folder: string): Readonly<Record<string, (edit: number) => string>> {
  // Without the name of the folder, so that types are stripped once for all runs.
  const script = (name: string, edit: number) => `import { appendFileSync } from 'node:fs'
    const file = new URL('../../${name}.txt', import.meta.url)
    export function handle(event, { message }) { appendFileSync(file, message + '\\n') } // ${edit}\n`
  return {
    'ts/handler.ts': (edit) => script('ts', edit).replace('(event, { message })', '(event: string, { message }: any)'),
    'js/handler.js': (edit) => script('js', edit),
    'own/handler.mjs': (edit) => script('own', edit),
    ...(python === undefined
      ? {}
      : {
          'py/handler.py': (edit: number) =>
            `async def handle(event_type, context):\n    with open(${JSON.stringify(join(folder, 'py.txt'))}, "a") as f:\n        f.write(context["message"] + "\\n")  # ${edit}\n`,
        }),
  }
}

export async function soakHooks({ events, edits, kills, seed, progress }: SoakOptions): Promise<SoakResult> {
  const folder = mkdtempSync(join(tmpdir(), 'hermes-soak-'))
  const { next: random } = createRandom(seed)
  const files = handlers(folder)
  const hooksFolder = join(folder, 'hooks')
  const registry = registryIn(folder, hooksFolder)
  const began = performance.now()
  const names = Object.keys(files).map((file) => file.split('/')[0] ?? '')
  try {
    for (const [file, text] of Object.entries(files)) {
      const name = file.split('/')[0]
      const more = name === 'own' ? 'env: [PATH]\n' : ''
      writeFiles(hooksFolder, { [`${name}/HOOK.yaml`]: hookYaml(['agent:start'], more), [file]: text(0) })
    }
    registry.discoverAndLoad()
    registry.watch()
    const bursts = Math.ceil(events / burstSize)
    const isDue = (count: number, index: number) =>
      Math.floor((index * count) / bursts) < Math.floor(((index + 1) * count) / bursts)
    let emitted = 0
    let heapEarly = 0
    for (let index = 0; index < bursts; index++) {
      for (let count = 0; count < burstSize && emitted < events; count++) {
        registry.emit('agent:start', agentStart(String(emitted++)))
        if (random() < 0.05) await breath()
      }
      if (isDue(edits, index)) edit(files, hooksFolder, index, random)
      if (isDue(kills, index)) kill(registry, random)
      if (!(await registry.waitUntilIdle(60_000))) throw new Error('events were not handled within a minute')
      if (index === Math.floor(bursts / 5)) heapEarly = heap()
      if (index % 50 === 49) progress?.(`${emitted} events`)
    }
    const heapGrowthMb = (heap() - heapEarly) / 1_048_576
    const counted = names.map((name) => countHandled(registry, folder, name, emitted))
    return { hooks: counted, edits, kills, heapGrowthMb, seconds: (performance.now() - began) / 1_000 }
  } finally {
    await registry.stop(0)
    rmSync(folder, { recursive: true, force: true })
  }
}

function registryIn(folder: string, hooksFolder: string): HookRegistry {
  return createHookRegistry({
    roots: [{ path: hooksFolder, origin: 'home' }],
    folder: hooksFolder,
    home: folder,
    cacheFolder: strippedTypesDirectory(),
    manifestCache: join(folder, 'cache', 'hooks.json'),
    settings: () => settings,
    environment: () => ({ PATH: path, HOME: folder }),
    createHost: (options) => createHost(options),
    emittedEvents: () => hookEventNames,
    resolveCommand: () => undefined,
    services: { send: async () => undefined, startAgent: async () => '' },
    pluginEvents: noPluginEvents,
    newId: () => '',
    acceptsAll: () => false,
    clock: Date.now,
    log: silentLog,
  })
}

const settings = hooksConfig.hooks.parse({ python: python ?? 'python3', timeout: 30 })

function edit(files: ReturnType<typeof handlers>, folder: string, number: number, random: () => number): void {
  const all = Object.entries(files)
  const [file, text] = all[Math.floor(random() * all.length)] ?? ['', () => '']
  // Written into its own folder, too, which must not matter.
  appendFileSync(join(folder, file, '..', 'log.txt'), `${number}\n`)
  writeFiles(folder, { [file]: text(number + 1) })
}

function kill(registry: HookRegistry, random: () => number): void {
  const pids = registry.processes().flatMap(({ pid }) => (pid === undefined ? [] : [pid]))
  const pid = pids[Math.floor(random() * pids.length)]
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
}

/** After a collection, bytes. */
function heap(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  return process.memoryUsage().heapUsed
}

function countHandled(
  registry: HookRegistry,
  folder: string,
  name: string,
  emitted: number,
): SoakResult['hooks'][number] {
  const file = join(folder, `${name}.txt`)
  const got = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : []
  const { failed, dropped } = registry.list().find((hook) => hook.name === name) ?? { failed: 0, dropped: 0 }
  const distinct = new Set(got)
  return {
    name,
    handled: got.length,
    failed,
    dropped,
    doubled: got.length - distinct.size,
    outOfOrder: got.filter((number, index) => index > 0 && number < (got[index - 1] ?? 0)).length,
    lost: Math.max(0, emitted - distinct.size - failed - dropped),
  }
}

/** Whether every promise was kept. */
export function isLossless({ hooks }: SoakResult): boolean {
  return hooks.every(({ doubled, outOfOrder, lost, dropped }) => doubled + outOfOrder + lost + dropped === 0)
}
