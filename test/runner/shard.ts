/**
 * One process of the test run.
 */
import { spawn } from 'node:child_process'
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

const lineSchema = z.discriminatedUnion('type', [
  resultSchema,
  z.object({ type: z.literal('output'), text: z.string() }),
  z.object({ type: z.literal('problem'), text: z.string() }),
])

export type TestResult = z.infer<typeof resultSchema>

export interface ShardOptions {
  /** Relative to the root of the project. */
  readonly files: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  onResult(result: TestResult): void
  /** What a test printed. */
  onOutput(text: string): void
}

export interface ShardExit {
  /** Errors after the end of their test, or why the process ended in another way than with all tests run. */
  readonly problem?: string
}

/** A larger young generation than the default, 16: fewer collections, 4 % less CPU time. */
const semiSpaceMb = 32

/** Resolves when the process has ended. */
export async function runShard({ files, environment, onResult, onOutput }: ShardOptions): Promise<ShardExit> {
  const main = fileURLToPath(new URL('shard-process.mjs', import.meta.url))
  const child = spawn(process.execPath, [`--max-semi-space-size=${semiSpaceMb}`, main, ...files], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000)
    onOutput(text)
  })
  let failures = 0
  const lateErrors: string[] = []
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = parseLine(text)
    if (line === undefined) return onOutput(`${text}\n`)
    if (line.type === 'output') return onOutput(line.text)
    if (line.type === 'problem') return void lateErrors.push(line.text)
    if (!line.passed) failures += 1
    onResult(line)
  })
  const { code, signal } = await new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  const explained = code === 0 || (code === 1 && failures + lateErrors.length > 0)
  const exit = `A test process ended with ${signal ?? `exit code ${code}`}. Its last output: ${errors}`
  const problems = explained ? lateErrors : [...lateErrors, exit]
  return problems.length === 0 ? {} : { problem: problems.join('\n') }
}

function parseLine(text: string): z.infer<typeof lineSchema> | undefined {
  if (!text.startsWith('{"type":"')) return undefined
  try {
    return lineSchema.parse(JSON.parse(text))
  } catch {
    // A test printed something that looks like a line of the reporter.
    return undefined
  }
}
