/**
 * Handlers in a worker process: the time to the first response, the memory of the process, and the cost of a call,
 * compared with a bare child process that returns each line.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Host, HostLanguage } from '../../../src/hosts/contract.ts'
import { createHost } from '../../../src/hosts/host.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Figure, Row } from '../figure.ts'
import { killProcess } from '../kit/children.ts'
import { rssMbOf } from '../kit/proc.ts'
import { pythonPlugin } from '../kit/python-plugin.ts'
import { median, quantile } from '../kit/stats.ts'

interface Setup {
  readonly language: HostLanguage
  readonly title: string
  readonly file: string
  readonly text: string
  readonly command: string
  /** A child process that returns each line, for comparison. */
  readonly bare: readonly string[]
  readonly bars: { readonly memory: number; readonly warm: number; readonly paced: number }
}

const context = { platform: 'web', user_id: 'u', session_id: 's', message: 'hello '.repeat(20) }
const args = ['agent:start', context] as const

export const hosts: Figure = {
  name: 'hosts',
  about: 'handlers in a worker process: start, memory, calls',
  async measure({ full, progress }) {
    const rows: Row[] = []
    for (const setup of setups()) {
      progress(setup.title)
      rows.push(...(await measureOne(setup, full)))
    }
    const python = setups().find(({ language }) => language === 'python')
    if (python === undefined) return rows
    progress('Python plugin')
    return [...rows, ...(await pluginCalls(python.command, full))]
  },
}

function setups(): Setup[] {
  const node: Setup = {
    language: 'node',
    title: 'TypeScript',
    file: 'handler.ts',
    text: 'export const handle = async (event: string, context: { user_id: string }) => ({ event, user: context.user_id })',
    command: process.execPath,
    bare: ['-e', 'new (require("net").Socket)({ fd: 3 }).on("data", (data) => require("fs").writeSync(4, data))'],
    bars: { memory: 60, warm: 0.2, paced: 0.4 },
  }
  // The real interpreter: the python3 on the PATH may be a script that searches for it first.
  const { status, stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
  if (status !== 0) return [node]
  const python: Setup = {
    language: 'python',
    title: 'Python',
    file: 'handler.py',
    text: 'def handle(event_type, context):\n    return {"event": event_type, "user": context["user_id"]}\n',
    command: stdout.trim(),
    bare: ['-c', 'import os\nwhile True: os.write(4, os.read(3, 65536))'],
    bars: { memory: 25, warm: 0.5, paced: 0.6 },
  }
  const text = 'async def handle(event_type, context):\n    return {"event": event_type, "user": context["user_id"]}\n'
  return [node, python, { ...python, title: 'Python, async', text }]
}

async function measureOne(setup: Setup, full: boolean): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hermes-bench-'))
  try {
    const cold = await firstResponse(setup, mkdtempSync(join(folder, 'cold-')))
    const warm: number[] = []
    const bareStarts: number[] = []
    for (let round = 0; round < (full ? 15 : 7); round++) {
      warm.push(await firstResponse(setup, folder))
      bareStarts.push(await bareStart(setup, folder))
    }
    return [
      {
        name: `${setup.title}: first response`,
        measured: median(warm),
        unit: 'ms',
        bar: 200,
        baseline: { what: 'bare child', value: median(bareStarts) },
        ...(setup.language === 'node' ? { note: `${Math.round(cold)} ms including type stripping` } : {}),
      },
      ...(await calls(setup, folder, full)),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function calls(setup: Setup, folder: string, full: boolean): Promise<Row[]> {
  const { title, bars } = setup
  const host = hostOf(setup, folder)
  const bare = bareChild(setup, folder)
  try {
    await callOnce(host)
    const memory = rssMbOf(host.status().pid ?? 0)
    const bareMemory = rssMbOf(bare.child.pid ?? 0)
    const count = full ? 20_000 : 4_000
    await times(count / 4, () => callOnce(host))
    await times(count / 4, bare.ask)
    const cpu = process.cpuUsage()
    const warm = await times(count, () => callOnce(host))
    const { user, system } = process.cpuUsage(cpu)
    const bareWarm = await times(count, bare.ask)
    const paced: number[] = []
    const barePaced: number[] = []
    for (let n = 0; n < (full ? 1_000 : 200); n++) {
      await wait(5)
      paced.push(...(await times(1, () => callOnce(host))))
      await wait(5)
      barePaced.push(...(await times(1, bare.ask)))
    }
    const row = (what: string, values: readonly number[], bareValues: readonly number[], bar: number): Row => ({
      name: `${title}: ${what}, p50`,
      measured: median(values),
      unit: 'ms',
      bar,
      baseline: { what: 'bare child', value: median(bareValues) },
      note: `p99 ${quantile(values, 0.99).toFixed(2)} ms`,
    })
    return [
      {
        name: `${title}: memory`,
        measured: memory,
        unit: 'MB',
        bar: bars.memory,
        baseline: { what: 'bare child', value: bareMemory },
      },
      row('sequential call', warm, bareWarm, bars.warm),
      row('call every 5 ms', paced, barePaced, bars.paced),
      { name: `${title}: gateway CPU per call`, measured: (user + system) / count, unit: 'µs' },
    ]
  } finally {
    await killProcess(bare.child)
    await host.stop()
  }
}

/** A hook and a wrapper of a plugin, with all parts that a turn uses. */
async function pluginCalls(command: string, full: boolean): Promise<Row[]> {
  const plugin = await pythonPlugin(command)
  try {
    const count = full ? 10_000 : 2_000
    const rows: Row[] = []
    for (const [what, run, bar] of [
      ['hook with a result', plugin.hook, 0.5],
      ['tool_execution with next_call', plugin.tool, undefined],
    ] as const) {
      const once = async () => void (await run())
      await times(count / 4, once)
      const cpu = process.cpuUsage()
      const warm = await times(count, once)
      const { user, system } = process.cpuUsage(cpu)
      rows.push(
        {
          name: `Python plugin: ${what}, p50`,
          measured: median(warm),
          unit: 'ms',
          bar,
          note: `p99 ${quantile(warm, 0.99).toFixed(2)} ms`,
        },
        { name: `Python plugin: gateway CPU per ${what}`, measured: (user + system) / count, unit: 'µs' },
      )
    }
    return rows
  } finally {
    await plugin.stop()
  }
}

function hostOf({ language, file, text, command }: Setup, folder: string): Host {
  mkdirSync(join(folder, 'hook'), { recursive: true })
  const path = join(folder, 'hook', file)
  writeFileSync(path, text)
  return createHost({
    name: 'bench',
    language,
    modules: [{ name: 'hook', path }],
    env: { PATH: process.env['PATH'] ?? '' },
    cwd: folder,
    cacheFolder: join(folder, 'cache'),
    command,
    log: silentLog,
  })
}

async function callOnce(host: Host): Promise<void> {
  const result = await host.call({ module: 'hook', args, deadlineMs: 5_000 })
  if (!result.ok) throw result.failure.error
}

async function firstResponse(setup: Setup, folder: string): Promise<number> {
  const host = hostOf(setup, folder)
  try {
    const [took = Number.NaN] = await times(1, () => callOnce(host))
    return took
  } finally {
    await host.stop()
  }
}

async function bareStart(setup: Setup, folder: string): Promise<number> {
  const [took = Number.NaN] = await times(1, async () => {
    const { ask, child } = bareChild(setup, folder)
    await ask()
    void killProcess(child)
  })
  return took
}

function bareChild({ command, bare }: Setup, cwd: string): { child: ChildProcess; ask: () => Promise<void> } {
  const child = spawn(command, bare, { cwd, stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'] })
  const [, , , to, from] = child.stdio
  if (!(to instanceof Socket && from instanceof Socket)) throw new Error('the bare child has no pipes')
  let resolveLine: () => void = () => undefined
  from.on('data', (data) => {
    if (data.at(-1) === 10) resolveLine()
  })
  const line = `${JSON.stringify(args)}\n`
  const ask = () =>
    new Promise<void>((resolve) => {
      resolveLine = resolve
      to.write(line)
    })
  return { child, ask }
}

/** The duration of each run, ms. */
async function times(count: number, run: () => Promise<void>): Promise<number[]> {
  const took: number[] = []
  for (let n = 0; n < count; n++) {
    const begun = performance.now()
    await run()
    took.push(performance.now() - begun)
  }
  return took
}
