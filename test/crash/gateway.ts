/**
 * A gateway in a process of its own, which kills itself at a failpoint and is started again in the same home. One process
 * runs at a time. Each wait has a limit, and its error contains what the gateway logged last.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { withTimeout } from '../../src/lib/timers.ts'
import { childEnvironment } from '../kit/child-environment.ts'
import { gatewayBundle } from '../kit/gateway-bundle.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'

/** The signal that ended a process, or its exit code. */
export type Ending = NodeJS.Signals | number | null

export interface CrashGateway {
  readonly home: string
  /** Starts a process. With a failpoint it kills itself at this hit (from 1). Throws while another one runs. */
  start(killAt?: string, killHit?: number): void
  /** Resolves when the gateway is ready. Rejects when its process ends before. */
  ready(): Promise<void>
  /** Starts a process and waits until it is ready. */
  restart(): Promise<void>
  /** The running process kills itself at this hit of the failpoint, counted from now on. */
  arm(killAt: string, killHit?: number): Promise<void>
  /** Resolves when the process was killed. Rejects when it ends in another way. */
  killed(): Promise<void>
  /** Resolves when the process has ended. */
  ended(): Promise<Ending>
  /** Kills the running process. */
  kill(): Promise<void>
  /** Sends SIGTERM. */
  terminate(): void
  /** Stops the process. Rejects when it does not end with 0. */
  stop(): Promise<void>
  /** Resolves with the promise. Rejects with what is missing and the end of the log when it takes too long. */
  until<T>(what: string, promise: Promise<T>): Promise<T>
  /** The same for something that is true at some time. It is looked at every 20 ms. */
  untilTrue(what: string, isTrue: () => boolean): Promise<void>
  /** Kills the process if one runs. Never rejects. */
  dispose(): Promise<void>
}

/**
 * A process lives for about a second, so optimised code is never worth its compilation: without it, the threads of V8 take
 * 10 ms of CPU time instead of 140.
 */
const shortLivedFlags = [
  '--min-semi-space-size=64',
  '--single-threaded-gc',
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--no-wasm-tier-up',
]

const program = fileURLToPath(new URL('./child.mjs', import.meta.url))
const shownLines = 20

interface Life {
  readonly child: ChildProcess
  readonly ready: Promise<void>
  readonly ended: Promise<Ending>
}

/** Nothing is started. `dispose` must be called before the home is removed. */
export function createCrashGateway(home: string): CrashGateway {
  let life: Life | undefined
  let log = ''

  function current(): Life {
    if (life === undefined) throw new Error('no gateway was started')
    return life
  }
  function isRunning(): boolean {
    return life !== undefined && life.child.exitCode === null && life.child.signalCode === null
  }
  function describe(): string {
    const state = isRunning() ? 'runs' : `ended with ${life?.child.signalCode ?? life?.child.exitCode}`
    const lines = log.trimEnd().split('\n').slice(-shownLines)
    return `the gateway ${state}; its log:\n${lines.join('\n')}`
  }
  function inVain(what: string, limitMs: number): string {
    return `waited ${Math.round(limitMs / 1_000)} s for ${what}; ${describe()}`
  }
  async function until<T>(what: string, promise: Promise<T>): Promise<T> {
    const limitMs = waitLimitMs()
    const result = await withTimeout(promise, limitMs)
    if (result.done) return result.value
    throw new Error(inVain(what, limitMs))
  }
  async function expectEnding(expected: Ending, what: string): Promise<void> {
    const ending = await until(what, current().ended)
    assert.equal(ending, expected, `${what}: ${describe()}`)
  }

  const self: CrashGateway = {
    home,
    until,
    async untilTrue(what, isTrue) {
      const limitMs = waitLimitMs()
      for (const end = performance.now() + limitMs; !isTrue(); await setTimeout(20))
        if (performance.now() > end) throw new Error(inVain(what, limitMs))
    },
    start(killAt, killHit = 1) {
      if (isRunning()) throw new Error('a gateway runs already')
      log = ''
      const settings = { home, ...(killAt === undefined ? {} : { killAt, killHit }) }
      life = startProcess(settings, childEnvironment(home), (piece) => {
        log = (log + piece).slice(-40_000)
      })
    },
    async ready() {
      const { ready, ended } = current()
      const early = ended.then((ending) => {
        throw new Error(`the gateway ended with ${ending} before it was ready; ${describe()}`)
      })
      await until('the start of the gateway', Promise.race([ready, early]))
    },
    async restart() {
      self.start()
      await self.ready()
    },
    async arm(killAt, killHit = 1) {
      const { child } = current()
      const armed = new Promise((resolve) => child.once('message', resolve))
      child.send({ killAt, killHit })
      await until(`the gateway to be armed at ${killAt}`, armed)
    },
    killed: () => expectEnding('SIGKILL', 'the kill at the failpoint'),
    ended: () => until('the end of the process', current().ended),
    async kill() {
      current().child.kill('SIGKILL')
      await expectEnding('SIGKILL', 'the end of the killed process')
    },
    terminate: () => void current().child.kill('SIGTERM'),
    async stop() {
      self.terminate()
      await expectEnding(0, 'a clean stop')
    },
    async dispose() {
      life?.child.kill('SIGKILL')
      await life?.ended
    },
  }
  return self
}

/** `settings`: those of `child.mjs`, without the bundle. */
function startProcess(settings: object, env: NodeJS.ProcessEnv, onLog: (piece: string) => void): Life {
  const child = spawn(
    process.execPath,
    [...shortLivedFlags, program, JSON.stringify({ bundle: gatewayBundle('gateway'), ...settings })],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env },
  )
  child.stderr?.setEncoding('utf8').on('data', onLog)
  return {
    child,
    ready: new Promise((resolve) => child.stdout?.once('data', () => resolve())),
    ended: new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code))),
  }
}
