/**
 * The cost of hooks: an event without a listener, an event to a loaded handler, and ten hooks at the start.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { HookRegistry } from '../../../src/hooks/registry.ts'
import { agentStart, command, hookYaml } from '../../hooks/support.ts'
import { type Files, path, python, writeFiles } from '../../hosts/support.ts'
import type { Figure, Row } from '../figure.ts'
import { registryOn } from '../kit/hook-registry.ts'
import { median, quantile } from '../kit/stats.ts'

const child = fileURLToPath(new URL('../kit/hooks-child.ts', import.meta.url))
const typescript = `export function handle(_event: string, _context: object, { gateway }: any) { void gateway.send('here', 'x') }\n`
const pythonSource = 'def handle(event_type, context, services):\n    services.gateway.send("here", "x")\n'

export const hooks: Figure = {
  name: 'hooks',
  about: 'events without a listener, dispatch to handlers, ten hooks at the start',
  async measure({ full, progress }) {
    const rows: Row[] = [await eventWithoutListener()]
    progress('ten hooks at the start')
    rows.push(await discoverTenHooks(full ? 30 : 10))
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

/** Runs `work` with a registry on a new directory. */
async function withHooks<T>(
  files: Files,
  work: (registry: HookRegistry) => Promise<T>,
  send: () => void = () => undefined,
): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), 'hermes-bench-'))
  writeFiles(join(home, 'hooks'), files)
  const registry = registryOn({ home, path, python, send })
  try {
    return await work(registry)
  } finally {
    await registry.stop(0)
    rmSync(home, { recursive: true, force: true })
  }
}

function eventWithoutListener(): Promise<Row> {
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
    return { name: 'event without a listener', measured: median(rounds), unit: 'µs', bar: 1 }
  })
}

/** CPU of the main thread for discovering ten hooks in a new process, before any other process starts. */
async function discoverTenHooks(rounds: number): Promise<Row> {
  const home = mkdtempSync(join(tmpdir(), 'hermes-bench-'))
  for (let number = 0; number < 10; number++) {
    writeFiles(join(home, 'hooks', `h${number}`), {
      'HOOK.yaml': hookYaml(['agent:start', 'agent:end', 'command:*']),
      ...(number % 2 === 0 ? { 'handler.ts': typescript } : { 'handler.py': pythonSource }),
    })
  }
  const one = async () => Number((await promisify(execFile)(process.execPath, [child, home, path])).stdout)
  try {
    const first = await one()
    const all: number[] = []
    for (let round = 0; round < rounds; round++) all.push(await one())
    const note = `main thread, each in a new process; first start after a change ${first.toFixed(1)} ms`
    return { name: 'ten hooks at the start', measured: median(all), unit: 'ms', bar: 5, note }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

async function dispatch(
  language: string,
  files: Files,
  bars: { readonly warm: number; readonly paced: number },
  full: boolean,
): Promise<Row[]> {
  if (language === 'Python' && python === undefined) {
    return [{ name: `dispatch to ${language}`, unit: 'ms', note: 'python3 is not installed' }]
  }
  let arrived = () => undefined
  const work = async (registry: HookRegistry) => {
    registry.discoverAndLoad()
    const context = command('new', 'x')
    /** From the event to the call that the handler makes. */
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
        name: `dispatch to ${language}, one event every 5 ms, p50`,
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
