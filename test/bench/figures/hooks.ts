/**
 * What hooks cost: an event nobody wants, an event on its way to a handler that is loaded, and ten hooks at the start.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { hooksConfig } from '../../../src/hooks/config.ts'
import { createHookRegistry, type HookRegistry } from '../../../src/hooks/registry.ts'
import { createHost } from '../../../src/hosts/host.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { hookEventNames } from '../../../src/message/hook-events.ts'
import { agentStart, command, hookYaml } from '../../hooks/support.ts'
import { type Files, path, python, writeFiles } from '../../hosts/support.ts'
import type { Figure, Row } from '../figure.ts'
import { median, quantile } from '../kit/stats.ts'

const settings = hooksConfig.hooks.parse({ python: python ?? 'python3' })
const typescript = `export function handle(_event: string, _context: object, { gateway }: any) { void gateway.send('here', 'x') }\n`
const pythonSource = 'def handle(event_type, context, services):\n    services.gateway.send("here", "x")\n'

export const hooks: Figure = {
  name: 'hooks',
  about: 'events without a listener, dispatch to handlers, ten hooks at the start',
  async measure({ full, progress }) {
    const rows: Row[] = [await nobody()]
    progress('ten hooks at the start')
    rows.push(await tenHooks(full ? 30 : 10))
    for (const [language, files, bars] of [
      ['TypeScript', { 'a/handler.ts': typescript }, { warm: 0.2, paced: 0.4 }],
      ['Python', { 'a/handler.py': pythonSource }, { warm: 0.5, paced: 0.6 }],
    ] as const) {
      progress(`dispatch to ${language}`)
      rows.push(...(await dispatch(language, { 'a/HOOK.yaml': hookYaml(['command:new']), ...files }, bars, full)))
    }
    return rows
  },
}

/** Runs with a registry on a folder of its own. */
async function withHooks<T>(
  files: Files,
  work: (registry: HookRegistry) => Promise<T>,
  send: () => void = () => undefined,
): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), 'hermes-bench-'))
  const folder = join(home, 'hooks')
  writeFiles(folder, files)
  const registry = createHookRegistry({
    roots: [{ path: folder, origin: 'home' }],
    folder,
    home,
    cacheFolder: join(home, 'cache'),
    settings: () => settings,
    environment: () => ({ PATH: path, HOME: home }),
    createHost,
    emitted: () => [...hookEventNames, 'command:new'],
    commandCalled: (name) => name,
    services: { send: async () => send(), startAgent: async () => '' },
    fetch,
    newId: () => '',
    acceptsAll: () => false,
    clock: Date.now,
    log: silentLog,
  })
  try {
    return await work(registry)
  } finally {
    await registry.stop(0)
    rmSync(home, { recursive: true, force: true })
  }
}

function nobody(): Promise<Row> {
  const files = { 'a/HOOK.yaml': hookYaml(['gateway:startup']), 'a/handler.ts': typescript }
  return withHooks(files, async (registry) => {
    registry.discoverAndLoad()
    const context = agentStart('hello')
    const rounds: number[] = []
    for (let round = 0; round < 20; round++) {
      const before = process.cpuUsage()
      for (let count = 0; count < 100_000; count++) registry.emit('agent:start', context)
      rounds.push(cpuSince(before) / 100_000)
    }
    return { name: 'an event that no hook wants', measured: median(rounds), unit: 'µs', bar: 1 }
  })
}

/** CPU of the main thread that finding ten hooks takes, before any process starts. */
async function tenHooks(rounds: number): Promise<Row> {
  const files: Record<string, string> = {}
  for (let number = 0; number < 10; number++) {
    files[`h${number}/HOOK.yaml`] = hookYaml(['agent:start', 'agent:end', 'command:*'])
    files[`h${number}/handler.${number % 2 === 0 ? 'ts' : 'py'}`] = number % 2 === 0 ? typescript : pythonSource
  }
  const all: number[] = []
  for (let round = 0; round < rounds; round++) {
    all.push(
      await withHooks(files, async (registry) => {
        const before = process.threadCpuUsage()
        registry.discoverAndLoad()
        const { user, system } = process.threadCpuUsage(before)
        return (user + system) / 1_000
      }),
    )
  }
  const note = `main thread; the first one took ${(all[0] ?? 0).toFixed(1)} ms`
  return { name: 'ten hooks at the start', measured: median(all), unit: 'ms', bar: 5, note }
}

async function dispatch(
  language: string,
  files: Files,
  bars: { readonly warm: number; readonly paced: number },
  full: boolean,
): Promise<Row[]> {
  if (language === 'Python' && python === undefined) {
    return [{ name: `dispatch to ${language}`, unit: 'ms', note: 'there is no python3' }]
  }
  let arrived = () => undefined
  const work = async (registry: HookRegistry) => {
    registry.discoverAndLoad()
    const context = command('new', 'x')
    /** From the event to the word of the handler that it has it. */
    const one = () =>
      new Promise<number>((resolve) => {
        const began = performance.now()
        arrived = () => void resolve(performance.now() - began)
        registry.emit('command:new', context)
      })
    for (let count = 0; count < 300; count++) await one()
    const warm: number[] = []
    for (let count = 0; count < (full ? 5_000 : 1_500); count++) warm.push(await one())
    const paced: number[] = []
    for (let count = 0; count < (full ? 1_000 : 200); count++) {
      await pause(5)
      paced.push(await one())
    }
    const p99 = (values: readonly number[]) => `p99 ${quantile(values, 0.99).toFixed(2)} ms`
    return [
      {
        name: `dispatch to ${language}, warm, p50`,
        measured: median(warm),
        unit: 'ms' as const,
        bar: bars.warm,
        note: p99(warm),
      },
      {
        name: `dispatch to ${language}, one event each 5 ms, p50`,
        measured: median(paced),
        unit: 'ms' as const,
        bar: bars.paced,
        note: p99(paced),
      },
    ]
  }
  return await withHooks(files, work, () => arrived())
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return user + system
}
