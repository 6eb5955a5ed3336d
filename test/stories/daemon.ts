/**
 * The real daemon, `hermes gateway run`, as a process of its own: for stories about signals, exit codes and damage.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withTimeout } from '../../src/lib/timers.ts'

export interface Daemon {
  readonly pid: number
  /** Resolves with its address when it is ready. Rejects when it ended before, with what it said. */
  readonly ready: Promise<string>
  /** Resolves with the exit code, or the signal that ended it. Rejects after ten seconds. */
  exit(): Promise<number | NodeJS.Signals | null>
  /** What it wrote to stderr. */
  errors(): string
  /** Resolves when it has written this to stderr. Rejects after ten seconds. */
  said(text: string): Promise<void>
  signal(name: NodeJS.Signals): void
}

export interface DaemonOptions {
  readonly words?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Runs the command line through this program instead: `['prlimit', '--fsize=1000000']`. */
  readonly through?: readonly string[]
}

const main = fileURLToPath(new URL('../../src/main.mjs', import.meta.url))
const flags = ['--max-semi-space-size=4', '--max-old-space-size=512']
const patienceMs = 10_000

/** Killed when the test ends. */
export function startDaemon(t: TestContext, home: string, options: DaemonOptions = {}): Daemon {
  const { words = ['gateway', 'run'], environment = {}, through = [] } = options
  const line = [...through, process.execPath, ...flags, main, ...words]
  const child = spawn(line[0] ?? '', line.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      HERMES_HOME: home,
      // Filled by the first of them, used by all others.
      NODE_COMPILE_CACHE: join(tmpdir(), `hermes-test-cache-${process.getuid?.() ?? 0}`),
      ...environment,
    },
  })
  t.after(() => child.kill('SIGKILL'))
  let errors = ''
  const watchers = new Set<() => void>()
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    errors += piece
    for (const look of watchers) look()
  })
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code))
  })
  const ready = addressOf(child, () => errors)
  // Whoever expects the start to fail does not ask.
  ready.catch(() => undefined)
  return {
    pid: child.pid ?? 0,
    ready,
    async exit() {
      const end = await withTimeout(ended, patienceMs)
      if (end.done) return end.value
      throw new Error(`the daemon did not end within ${patienceMs} ms:\n${errors}`)
    },
    errors: () => errors,
    async said(text) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => {
        if (errors.includes(text)) resolve()
      }
      watchers.add(look)
      look()
      const { done } = await withTimeout(promise, patienceMs)
      watchers.delete(look)
      if (!done) throw new Error(`the daemon did not say "${text}":\n${errors}`)
    },
    signal: (name) => void child.kill(name),
  }
}

function addressOf(child: ChildProcess, errors: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    child.stdout?.setEncoding('utf8').on('data', (piece) => {
      printed += piece
      const url = /http:\/\/[\w.:[\]-]+/.exec(printed)?.[0]
      if (url !== undefined) resolve(url)
    })
    child.once('close', (code) => reject(new Error(`the daemon ended with ${code}:\n${errors()}`)))
  })
}
