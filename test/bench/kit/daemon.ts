/**
 * Measures the start and the idle cost of a daemon as `npm start` runs it, or of any Node program that reports when it
 * is ready.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { daemonAllocator, daemonFlags } from '../../kit/daemon-command.ts'
import { killProcess, waitForLine } from './children.ts'
import { cpuMsOf, rssMbOf } from './proc.ts'
import { median } from './stats.ts'

const sources = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))

export interface StartMeasurement {
  readonly readyMs: number
  readonly readyCpuMs: number
  /** When the platforms have connected too. */
  readonly connectedMs: number
  readonly connectedCpuMs: number
  readonly idleRss: number
  readonly idleCpuMs: number
}

/** The daemon on a home. Waits for the connections of `platforms`; the idle time starts then. */
export function startDaemon(
  home: string,
  platforms: readonly string[],
  idleMs: number,
  env: Readonly<Record<string, string>> = {},
  main = sources,
): Promise<StartMeasurement> {
  const args = [...daemonFlags, main, 'gateway', 'run']
  const connected = platforms.map((name) => new RegExp(`"platform":"${name}".*"event":"platform.connected"`))
  return measureStart(
    args,
    { ...daemonAllocator, HERMES_HOME: home, HOME: home, ...env },
    '"event":"gateway.ready"',
    connected,
    idleMs,
  )
}

/** Starts node, waits for lines on stderr and for `idleMs`, and stops it with SIGTERM as a service manager does. */
export async function measureStart(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  readyLine: string,
  settledLines: readonly RegExp[],
  idleMs: number,
): Promise<StartMeasurement> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
  })
  try {
    const pid = child.pid ?? 0
    const settling = Promise.all(settledLines.map((line) => waitForLine(child.stderr, line)))
    await waitForLine(child.stderr, readyLine)
    const readyMs = performance.now() - begun
    const readyCpuMs = cpuMsOf(pid)
    await settling
    const settledMs = performance.now() - begun
    const settledCpuMs = cpuMsOf(pid)
    await pause(idleMs)
    const idleRss = rssMbOf(pid)
    const idleCpuMs = cpuMsOf(pid) - settledCpuMs
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
    return { readyMs, readyCpuMs, connectedMs: settledMs, connectedCpuMs: settledCpuMs, idleRss, idleCpuMs }
  } finally {
    await killProcess(child)
  }
}

export function medianOf(all: readonly StartMeasurement[], field: keyof StartMeasurement): number {
  return median(all.map((one) => one[field]))
}
