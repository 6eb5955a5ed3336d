/**
 * Runs a Python script in an environment and answers its calls of tools (contract S9, `execute_code`).
 */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import { quoteWord } from '../../lib/shell-quote.ts'
import { linkAbortSignal, withTimeout } from '../../lib/timers.ts'
import type { Environment } from '../environments/environment.ts'
import { createOutputBuffer } from '../environments/output-buffer.ts'

export interface ScriptLimits {
  readonly timeoutMs: number
  readonly maxCalls: number
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
}

export interface ScriptRequest {
  readonly code: string
  readonly environment: Environment
  readonly cwd: string
  /** Files below a hidden directory that the script may read. */
  readonly exposed: readonly string[]
  /** The names of the tools that it may call, each with the names of its arguments in their order. */
  readonly tools: Readonly<Record<string, readonly string[]>>
  readonly limits: ScriptLimits
  readonly signal: AbortSignal
  /** Runs a tool and resolves with its result. The signal aborts when the script has ended. A rejection ends the script. */
  callTool(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string>
}

export interface ScriptResult {
  /** `interrupted`: the signal aborted. `error`: the script raised an error, or did not start. */
  readonly status: 'success' | 'error' | 'timeout' | 'interrupted'
  readonly stdout: string
  readonly stderr: string
  readonly toolCalls: number
}

const messageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  z.object({
    type: z.literal('call'),
    id: z.int(),
    tool: z.string(),
    arguments: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal('end'), code: z.int() }),
])

type ScriptMessage = z.output<typeof messageSchema>

/** For calls of tools that ignore the end of the script. */
const graceMs = 5_000
/** A longer line ends the script: the arguments of a call are no place for data. */
const maxLineChars = 8 * 1_048_576

/**
 * Resolves when the script has ended and no call of a tool runs any more. Rejects when it cannot be started, and with what
 * `callTool` rejects.
 */
export async function runScript(request: ScriptRequest): Promise<ScriptResult> {
  const { environment, cwd, exposed, limits, signal } = request
  const script = linkAbortSignal(signal)
  if (environment.spawn === undefined) throw new Error(`Scripts are not available in ${environment.kind}.`)
  const process = await environment.spawn(await runnerCommand(), { cwd, exposed })
  const stdout = createOutputBuffer(limits.maxStdoutBytes)
  const stderr = createOutputBuffer(limits.maxStderrBytes)
  const outputs = { stdout, stderr }
  const ended = Promise.withResolvers<'success' | 'error'>()
  // Handled below; a call may fail while nothing waits yet.
  ended.promise.catch(() => undefined)
  const running = new Set<Promise<void>>()
  let calls = 0

  const reply = (message: object) => process.write(`${JSON.stringify(message)}\n`)

  async function answer({ id, tool, arguments: args }: Extract<ScriptMessage, { type: 'call' }>): Promise<void> {
    if (!Object.hasOwn(request.tools, tool)) return void reply({ id, problem: `${tool} cannot be called here.` })
    if (calls >= limits.maxCalls)
      return void reply({ id, problem: `A script may call tools ${limits.maxCalls} times. This call was not made.` })
    calls += 1
    reply({ id, result: await request.callTool(tool, args, script.signal) })
  }

  function take(message: ScriptMessage): void {
    switch (message.type) {
      case 'output':
        outputs[message.stream].add(Buffer.from(message.text))
        return
      case 'call': {
        const call = answer(message)
          .catch((error: unknown) => {
            if (!script.signal.aborted) ended.reject(error)
          })
          .finally(() => running.delete(call))
        running.add(call)
        return
      }
      case 'end':
        ended.resolve(message.code === 0 ? 'success' : 'error')
    }
  }

  process.onOutput(
    splitLines(
      (line) => {
        const message = parseMessage(line)
        // Before the script starts, the shell may say that there is no Python.
        if (message === undefined) stderr.add(Buffer.from(`${line}\n`))
        else take(message)
      },
      () => ended.reject(new Error('The script sent too long a line.')),
    ),
  )
  void process.exited.then(() => ended.resolve('error'))
  reply({ code: request.code, tools: request.tools })
  try {
    const result = await withTimeout(ended.promise, limits.timeoutMs, signal)
    const status = result.done ? result.value : signal.aborted ? 'interrupted' : 'timeout'
    return { status, stdout: stdout.text(), stderr: stderr.text(), toolCalls: calls }
  } finally {
    process.kill()
    await process.exited
    // What the script has begun does not go on without it.
    script.abort(new Error('The script has ended.'))
    await withTimeout(Promise.allSettled(running), graceMs)
    script.release()
  }
}

/** The program is passed on the command line, so that the script runs wherever the environment is. */
async function runnerCommand(): Promise<string> {
  return `exec python3 -u -c ${quoteWord(await readFile(new URL('./runner.py', import.meta.url), 'utf8'))}`
}

function parseMessage(line: string): ScriptMessage | undefined {
  try {
    return messageSchema.safeParse(JSON.parse(line)).data
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw new Error(`a line of the script could not be read: ${messageOf(error)}`, { cause: error })
  }
}

function splitLines(onLine: (line: string) => void, onTooLong: () => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') onLine(line)
    if (rest.length <= maxLineChars) return
    rest = ''
    onTooLong()
  }
}
