/**
 * Runs the program of the operator that transcribes or speaks: without a shell, without the keys of the gateway, in a folder of its
 * own, and with limits of time and output.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { terminateProcessGroup } from '../../lib/process-group.ts'
import { type SpawnRequest, spawnFailure } from '../../lib/spawn-failure.ts'
import { stripTerminalEscapes, toOneLine } from '../../lib/visible-text.ts'
import { type EnvironmentVariables, filterEnvironment } from '../environments/passed-variables.ts'
import { MediaProviderError } from './media-provider-error.ts'

export interface ProgramOptions {
  readonly argv: readonly string[]
  /** Written to its input; '' for none. */
  readonly input: string
  readonly cwd: string
  /** The environment of the gateway; the program receives a filtered copy. */
  readonly env: EnvironmentVariables
  /** Names of secrets that it never receives. */
  readonly withheld: readonly string[]
  readonly timeoutMs: number
  readonly maxOutputBytes: number
}

const graceMs = 1_000
/** Limits what it writes about an error. */
const maxErrorChars = 300

/** Resolves with what it printed. Rejects with `MediaProviderError`, or with the reason of the signal. */
export async function runProgram(
  { argv, input, cwd, env, withheld, timeoutMs, maxOutputBytes }: ProgramOptions,
  signal: AbortSignal,
): Promise<Buffer> {
  signal.throwIfAborted()
  const [program = '', ...args] = argv
  const child = spawn(program, args, {
    cwd,
    env: filterEnvironment({ env, passthrough: [], blocked: withheld }),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: whatever it starts ends with it.
    detached: true,
  })
  const output: Buffer[] = []
  let bytes = 0
  let errors = ''
  const limit = new AbortController()
  const timer = setTimeout(
    () => limit.abort(new MediaProviderError('timeout', `the program was ended after ${timeoutMs / 1_000} s`)),
    timeoutMs,
  )
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= maxOutputBytes) output.push(chunk)
    else limit.abort(new MediaProviderError('bad-result', 'the program printed too much'))
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors = `${errors}${chunk}`.slice(-4 * maxErrorChars)
  })
  // A program that does not read its input closes it.
  child.stdin.on('error', () => undefined).end(input)
  const stop = AbortSignal.any([signal, limit.signal])
  try {
    const code = await exitOf(child, { program, cwd }, stop)
    if (code === 0) return Buffer.concat(output)
    const said = toOneLine(stripTerminalEscapes(errors)).slice(-maxErrorChars)
    throw new MediaProviderError(
      'failed',
      `the program ended with ${code ?? 'a signal'}${said === '' ? '' : `: ${said}`}`,
    )
  } finally {
    clearTimeout(timer)
    if (child.pid !== undefined) await terminateProcessGroup(child.pid, graceMs)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
  }
}

/** The exit code; null after a signal. Waits for the end of its output. */
async function exitOf(child: ChildProcess, { program, cwd }: SpawnRequest, stop: AbortSignal): Promise<number | null> {
  try {
    const [code] = await once(child, 'close', { signal: stop })
    return typeof code === 'number' ? code : null
  } catch (error) {
    stop.throwIfAborted()
    throw new MediaProviderError('failed', spawnFailure(error, { program, cwd }).message, { cause: error })
  }
}
