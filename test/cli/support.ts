/**
 * Runs the real program as a child process on a new home, and single commands inside the test process.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { CliContext } from '../../src/cli/kit/context.ts'
import { readPidFile } from '../../src/cli/kit/daemon.ts'
import { runCommand } from '../../src/cli/main.ts'
import type { ProcessEnvironment } from '../../src/config/environment.ts'
import type { ErrorCode } from '../../src/lib/error-catalogue.ts'
import { createHomeLayout, type HomeLayout } from '../../src/lib/home.ts'
import { withTimeout } from '../../src/lib/timers.ts'
import { tempHome } from '../kit/temp-home.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'

export const mainFile = fileURLToPath(new URL('../../src/main.mjs', import.meta.url))
/** The version of `package.json`, which a daemon reports. */
export const packageVersion = z
  .object({ version: z.string() })
  .parse(createRequire(import.meta.url)('../../package.json')).version
const platforms = fileURLToPath(new URL('../../platforms', import.meta.url))

/**
 * Shared by all runs: every run has a new home, and without this cache each process would compile all sources again.
 */
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/hermes-test', import.meta.url))

/** A free port for each daemon, timeouts that are shorter than those of a test, and no sandbox, which not every machine has. */
export const quietConfig = 'http: {port: 0}\nagent: {drain_timeout: 20, max_retries: 0}\nterminal: {sandbox: off}\n'

/** A test, or a caller that runs the cleanup itself. */
export interface CleanupOwner {
  after(clean: () => Promise<void>): unknown
}

export interface ProcessResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Errors with the exit code 78. */
const configErrors = ['config/', 'home/', 'store/']

/** Checks that a command failed with the error code, with the exit code that belongs to it, and that stderr contains the data. */
export function assertFailed(
  { code, stderr }: Pick<ProcessResult, 'code' | 'stderr'>,
  errorCode: ErrorCode,
  ...data: readonly (string | RegExp)[]
): void {
  assert.ok(stderr.includes(`(${errorCode})`), stderr)
  assert.equal(
    code,
    configErrors.some((prefix) => errorCode.startsWith(prefix)) ? 78 : errorCode === 'cli/usage' ? 2 : 1,
    stderr,
  )
  for (const part of data) {
    if (part instanceof RegExp) assert.match(stderr, part)
    else assert.ok(stderr.includes(part), `${part} is missing in: ${stderr}`)
  }
}

export interface RunningProcess {
  readonly child: ChildProcess
  /** The output of the process so far. */
  text(): string
  /**
   * Resolves when the text was written to stdout or stderr. Rejects when the process exits without it, or after 20 s.
   */
  waitForOutput(text: string): Promise<void>
  readonly exited: Promise<ProcessResult>
}

export interface StartOptions {
  readonly home: string
  readonly environment?: ProcessEnvironment
  readonly input?: string
  /** A command that is put before the program. */
  readonly under?: readonly string[]
}

/** Starts `hermes` with these arguments. A process that still runs is killed when the test ends. */
export function startHermes(t: CleanupOwner, words: readonly string[], start: StartOptions): RunningProcess {
  const { home, environment, input, under = [] } = start
  const path = process.env['PATH'] ?? ''
  const [program = process.execPath, ...first] = [...under, process.execPath, mainFile]
  const child = spawn(program, [...first, ...words], {
    env: { PATH: path, HOME: home, HERMES_HOME: home, NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  const looks = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      written[name] += chunk
      for (const look of looks) look()
    })
  }
  child.stdin.on('error', () => undefined)
  child.stdin.end(input ?? '')
  const exited = new Promise<ProcessResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...written }))
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const text = () => `${written.stdout}${written.stderr}`
  return {
    child,
    exited,
    text,
    async waitForOutput(wanted) {
      const seen = new Promise<boolean>((resolve) => {
        const look = () => text().includes(wanted) && resolve(true)
        looks.add(look)
        look()
      })
      const found = await withTimeout(Promise.race([seen, exited.then(() => text().includes(wanted))]), waitLimitMs())
      assert.ok(found.done && found.value, `it did not say ${JSON.stringify(wanted)}:\n${text()}`)
    },
  }
}

/** Runs `hermes` with these arguments until it exits. */
export function hermes(t: CleanupOwner, words: readonly string[], start: StartOptions): Promise<ProcessResult> {
  return startHermes(t, words, start).exited
}

/** Starts `hermes gateway run` and waits until it is ready and its platforms are connected. */
export async function startDaemon(t: CleanupOwner, home: string): Promise<RunningProcess & { readonly url: string }> {
  const running = startHermes(t, ['gateway', 'run'], { home })
  await running.waitForOutput('"event":"gateway.ready"')
  await running.waitForOutput('"platform":"web","account":"default","event":"platform.connected"')
  const url = readPidFile(createHomeLayout(home))?.url
  assert.ok(url !== undefined)
  return { ...running, url }
}

/** A new home with this config.yaml. */
export function homeWith(t: TestContext, config = quietConfig): HomeLayout {
  const home = createHomeLayout(tempHome(t))
  writeFileSync(home.configFile, config)
  return home
}

export interface InProcessOptions {
  readonly environment?: ProcessEnvironment
  /** The columns of the simulated terminal; no terminal if left out. */
  readonly terminal?: number
  readonly version?: string
  /** The whole standard input. Without it, it stays open and empty. */
  readonly input?: string
}

/** The context of a command that runs inside this process. */
export function createTestContext(
  root: string,
  { version = packageVersion, environment, terminal, input }: InProcessOptions = {},
): CliContext & { readonly output: PassThrough; readonly errors: PassThrough } {
  const home = createHomeLayout(root)
  const collect = () => {
    const stream = new PassThrough({ encoding: 'utf8', highWaterMark: 4_194_304 })
    return terminal === undefined ? stream : Object.assign(stream, { isTTY: true as const, columns: terminal })
  }
  return {
    version,
    home,
    rootHome: root,
    profile: 'default',
    environment: { HOME: root, HERMES_HOME: root, ...environment },
    platformDirectories: [platforms, home.platforms, join(home.plugins, 'platforms')],
    program: [process.execPath, mainFile],
    docsDirectory: '/docs',
    input: input === undefined ? new PassThrough() : new PassThrough().end(input),
    output: collect(),
    errors: collect(),
    exitCode: 0,
  }
}

/** Runs a command inside this process, which is faster. Commands that handle signals need a process. */
export async function runInProcess(
  root: string,
  words: readonly string[],
  options: InProcessOptions = {},
): Promise<ProcessResult> {
  const context = createTestContext(root, options)
  const code = await runCommand(words, context)
  return { code, stdout: String(context.output.read() ?? ''), stderr: String(context.errors.read() ?? '') }
}
