/**
 * One process of the test run. It always ends: a process without progress is killed with its children, and the problem
 * names the test that ran.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { relative } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { root } from './plan.ts'

const resultSchema = z.object({
  type: z.literal('result'),
  passed: z.boolean(),
  isSuite: z.boolean(),
  skipped: z.boolean(),
  todo: z.boolean(),
  /** With the names of the suites around it. */
  name: z.string(),
  /** Absolute; a test that a helper registers names the file of the helper. */
  file: z.string().optional(),
  line: z.number().optional(),
  nesting: z.number(),
  ms: z.number(),
  error: z.string().optional(),
  /** A suite that failed because of a test in it, which is reported by itself. */
  failedBelow: z.boolean(),
})

const costSchema = z.object({
  type: z.literal('cost'),
  file: z.string(),
  /** With the names of the suites around the test. */
  name: z.string(),
  /** Processor time, with the children of the process. */
  cpuMs: z.number(),
  ms: z.number(),
})

const lineSchema = z.discriminatedUnion('type', [
  resultSchema,
  costSchema,
  /** A test begins. The name contains the names of its suites. */
  z.object({ type: z.literal('start'), name: z.string(), file: z.string().optional() }),
  /** All tests have ended. */
  z.object({ type: z.literal('end') }),
  z.object({ type: z.literal('output'), text: z.string() }),
  z.object({ type: z.literal('problem'), text: z.string() }),
])

export type TestResult = z.infer<typeof resultSchema>
export type TestCost = z.infer<typeof costSchema>
type Line = z.infer<typeof lineSchema>

export interface ShardOptions {
  /** Relative to the root of the project. */
  readonly files: readonly string[]
  /** Full names of tests that do not run. */
  readonly leftOut?: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** Without a test that begins, prints or ends for so long, the process is killed. Default: 120,000. */
  readonly maxIdleMs?: number
  /** Kills the process. */
  readonly signal?: AbortSignal
  onResult(result: TestResult): void
  /** Called for each test in the order in which they ran. */
  onCost?(cost: TestCost): void
  /** What a test printed. */
  onOutput(text: string): void
}

export interface ShardExit {
  /** Errors after the end of their test, or why the process ended in another way than with all tests run. */
  readonly problem?: string
}

/** A larger young generation than the default, 16: fewer collections, 4 % less CPU time. */
const semiSpaceMb = 32

/** For output that arrives after the exit. A child that outlived the process can hold the pipe open for ever. */
const lastOutputMs = 2_000

/** Resolves when the process has ended. Does not throw. */
export async function runShard(options: ShardOptions): Promise<ShardExit> {
  const { files, environment, onResult, onOutput } = options
  const main = fileURLToPath(new URL('shard-process.mjs', import.meta.url))
  // A process group of its own: what the tests started ends with it.
  const child = spawn(process.execPath, [`--max-semi-space-size=${semiSpaceMb}`, main, ...files], {
    cwd: root,
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  // A process that ends at once does not read it.
  child.stdin.on('error', () => undefined).end(JSON.stringify(options.leftOut ?? []))
  const kill = () => killGroup(child.pid)
  options.signal?.addEventListener('abort', kill)
  const problems: string[] = []
  const progress = { ended: false, running: undefined as Line | undefined, filesBegun: new Set<string>() }
  const watchdog = setTimeout(() => {
    problems.push(describeStandstill(progress, options))
    kill()
  }, options.maxIdleMs ?? defaultMaxIdleMs)

  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000)
    watchdog.refresh()
    onOutput(text)
  })
  let failures = 0
  createInterface({ input: child.stdout }).on('line', (text) => {
    watchdog.refresh()
    const line = parseLine(text)
    if (line === undefined) return onOutput(`${text}\n`)
    if (line.type === 'output') return onOutput(line.text)
    switch (line.type) {
      case 'start':
        progress.running = line
        if (line.file !== undefined) progress.filesBegun.add(relative(root, line.file))
        break
      case 'cost':
        options.onCost?.({ ...line, file: relative(root, line.file) })
        break
      case 'problem':
        problems.push(line.text)
        break
      case 'end':
        progress.ended = true
        break
      default:
        if (!line.passed) failures += 1
        onResult(line)
    }
  })
  const { code, signal } = await exitOf(child)
  clearTimeout(watchdog)
  options.signal?.removeEventListener('abort', kill)
  // Processes that a test left behind.
  kill()
  const explained = code === 0 || problems.length > 0 || (code === 1 && failures > 0)
  if (!explained || (code === 0 && !progress.ended))
    problems.push(`A test process ended with ${signal ?? `exit code ${code}`}. Its last output: ${errors}`)
  return problems.length === 0 ? {} : { problem: problems.join('\n') }
}

const defaultMaxIdleMs = 120_000

type Progress = { readonly running: Line | undefined; readonly filesBegun: ReadonlySet<string> }

function describeStandstill({ running, filesBegun }: Progress, { files, maxIdleMs = defaultMaxIdleMs }: ShardOptions) {
  const test = running?.type === 'start' ? `"${running.name}" (${running.file ?? ''})` : 'the import of the test files'
  const notRun = files.filter((file) => !filesBegun.has(file))
  const rest = notRun.length === 0 ? '' : ` These files did not run: ${notRun.join(' ')}`
  return `A test process was killed because no test began, printed or ended for ${maxIdleMs / 1_000} s, during ${test}.${rest}`
}

interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

/** Resolves when the process has ended and its output has been read, as far as it arrives. */
async function exitOf(child: ChildProcess): Promise<ProcessExit> {
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: error.message }))
    child.once('close', (code, signal) => resolve({ code, signal }))
    child.once('exit', (code, signal) => {
      setTimeout(() => {
        child.stdout?.destroy()
        child.stderr?.destroy()
        resolve({ code, signal })
      }, lastOutputMs).unref()
    })
  })
}

/** Ends a process and all of its group that still run. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

function parseLine(text: string): Line | undefined {
  if (!text.startsWith('{"type":"')) return undefined
  try {
    return lineSchema.parse(JSON.parse(text))
  } catch {
    // A test printed something that looks like a line of the reporter.
    return undefined
  }
}
