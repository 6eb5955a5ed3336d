/**
 * Measures the start and the idle cost of a daemon as `npm start` runs it, or of any Node program that reports when it
 * is ready.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { daemonFlags, killed, lineWith } from './children.ts'
import { cpuMsOf, rssMbOf } from './proc.ts'
import { median } from './stats.ts'

const main = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))

export interface Started {
  readonly readyMs: number
  readonly readyCpuMs: number
  /** When the platforms have connected too. */
  readonly settledMs: number
  readonly settledCpuMs: number
  readonly idleRss: number
  readonly idleCpuMs: number
}

/** The daemon on a home. Waits for the connections of `platforms`; the idle time starts then. */
export function startDaemon(
  home: string,
  platforms: readonly string[],
  idleMs: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const args = [...daemonFlags(), main, 'gateway', 'run']
  const connected = platforms.map((name) => new RegExp(`"platform":"${name}".*"event":"platform.connected"`))
  return started(args, { HERMES_HOME: home, HOME: home, ...env }, '"msg":"ready"', connected, idleMs)
}

/** Starts node, waits for lines on stderr and for `idleMs`, and stops it with SIGTERM as a service manager does. */
export async function started(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  readyLine: string,
  settledLines: readonly RegExp[],
  idleMs: number,
): Promise<Started> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
  })
  try {
    const pid = child.pid ?? 0
    const settling = Promise.all(settledLines.map((line) => lineWith(child.stderr, line)))
    await lineWith(child.stderr, readyLine)
    const readyMs = performance.now() - begun
    const readyCpuMs = cpuMsOf(pid)
    await settling
    const settledMs = performance.now() - begun
    const settledCpuMs = cpuMsOf(pid)
    await pause(idleMs)
    const idleRss = rssMbOf(pid)
    const idleCpuMs = cpuMsOf(pid) - settledCpuMs
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
    return { readyMs, readyCpuMs, settledMs, settledCpuMs, idleRss, idleCpuMs }
  } finally {
    await killed(child)
  }
}

export function medianOf(all: readonly Started[], field: keyof Started): number {
  return median(all.map((one) => one[field]))
}
