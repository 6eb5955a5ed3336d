/**
 * Runs `hermes gateway run` as a child process, for tests of signals, exit codes and damaged files. The process loads a
 * bundle of the sources; tests of the command line start the sources themselves.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withTimeout } from '../../src/lib/timers.ts'
import { childEnvironment } from '../kit/child-environment.ts'
import { daemonAllocator, daemonFlags } from '../kit/daemon-command.ts'
import { bundleFlags } from '../kit/gateway-bundle.ts'
import { describeMatcher, type LogMatcher, matchesLogLine } from '../kit/log-matcher.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'

export interface Daemon {
  readonly pid: number
  /** Resolves with the URL of the daemon when it is ready. Rejects with its stderr if it ends before. */
  readonly ready: Promise<string>
  /** Resolves with the exit code or the signal that ended it. Rejects with its stderr when that takes too long. */
  exit(): Promise<number | NodeJS.Signals | null>
  /** The text that it wrote to stderr. */
  errors(): string
  /** Resolves when a log line on stderr matches. Rejects with its stderr when that takes too long. */
  waitForLog(matcher: LogMatcher): Promise<void>
  signal(name: NodeJS.Signals): void
}

export interface DaemonOptions {
  /** Arguments of `hermes`. Default: `gateway run`. */
  readonly args?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** A program that runs the command line: `['prlimit', '--fsize=1000000']`. */
  readonly through?: readonly string[]
  /** The file of another program. Default: the one of the sources. */
  readonly main?: string
}

const sources = fileURLToPath(new URL('../../src/main.mjs', import.meta.url))

/** The daemon is killed when the test ends. */
export function startDaemon(t: TestContext, home: string, options: DaemonOptions = {}): Daemon {
  const { args = ['gateway', 'run'], environment = {}, through = [], main } = options
  const program = main === undefined ? [...bundleFlags(), sources] : [main]
  const [command = '', ...commandArgs] = [...through, process.execPath, ...daemonFlags, ...program, ...args]
  const child = spawn(command, commandArgs, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...childEnvironment(home), ...daemonAllocator, HERMES_HOME: home, ...environment },
  })
  t.after(() => child.kill('SIGKILL'))
  let errors = ''
  const watchers = new Set<() => void>()
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    errors += piece
    for (const check of watchers) check()
  })
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code))
  })
  const ready = addressOf(child, () => errors)
  // Tests that expect the start to fail do not await it.
  ready.catch(() => undefined)
  return {
    pid: child.pid ?? 0,
    ready,
    async exit() {
      const result = await withTimeout(ended, waitLimitMs())
      if (result.done) return result.value
      throw new Error(`the daemon did not end in time:\n${errors}`)
    },
    errors: () => errors,
    async waitForLog(matcher) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const check = () => {
        if (errors.split('\n').some((line) => matchesLogLine(line, matcher))) resolve()
      }
      watchers.add(check)
      check()
      const { done } = await withTimeout(promise, waitLimitMs())
      watchers.delete(check)
      if (!done) throw new Error(`the daemon did not log ${describeMatcher(matcher)}:\n${errors}`)
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
