/**
 * Runs a program to its end: its input, its outputs up to a limit, and a time after which it and all it started are killed.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { messageOf } from '../lib/errors.ts'
import { signalProcessGroup } from '../lib/process-group.ts'

export interface ProgramOptions {
  readonly argv: readonly [string, ...string[]]
  readonly input: string
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly timeoutMs: number
}

export interface ProgramResult {
  /** Null when it was killed or never ran. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Why it did not end by itself with a code; '' where it did. */
  readonly failure: string
}

/** Of each output this much is kept … */
const maxKeptBytes = 1_048_576
/** … and one that writes more than this is ended: reading it costs the gateway more than writing costs the program. */
const maxOutputBytes = 16 * maxKeptBytes
/** How long something that cannot be killed, or that holds the pipes open, is waited for. */
const killGraceMs = 100

/** Never rejects. */
export async function runProgram(program: ProgramOptions): Promise<ProgramResult> {
  try {
    return await spawnAndWait(program)
  } catch (error) {
    // A command that the system cannot even be asked to run.
    return { code: null, stdout: '', stderr: '', failure: messageOf(error) }
  }
}

function spawnAndWait({ argv, input, env, cwd, timeoutMs }: ProgramOptions): Promise<ProgramResult> {
  const [file, ...args] = argv
  // A group of its own, so that what it started ends with it.
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  return new Promise((resolve) => {
    let failure = ''
    let hasEnded = false
    let timer: NodeJS.Timeout | undefined
    let outputs: readonly OutputBuffer[] = []
    const finish = (code: number | null, reason: string) => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(timer)
      // Before its number can be somebody else's.
      killProcessGroup(child.pid)
      const [stdout = '', stderr = ''] = outputs.map(({ take }) => take())
      resolve({ code, failure: reason, stdout, stderr })
    }
    const abort = (why: string) => {
      if (failure !== '') return
      failure = why
      killProcessGroup(child.pid)
      // What runs as somebody else cannot be killed, and what the kernel holds does not end at once.
      clearTimeout(timer)
      timer = setTimeout(() => finish(null, failure), killGraceMs)
    }
    child.once('error', (error) => finish(null, messageOf(error)))
    // Without file descriptors for pipes there is a child that never ran, and no pipes.
    if (!hasPipes(child)) return
    const onOverflow = () => abort(`it wrote more than ${maxOutputBytes} bytes`)
    outputs = [collectOutput(child.stdout, onOverflow), collectOutput(child.stderr, onOverflow)]
    timer = setTimeout(() => abort(`it was not done after ${timeoutMs} ms`), timeoutMs)
    // It need not read what it is given.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    child.once('exit', (code, signal) => {
      child.stdin.destroy()
      const how = failure === '' && signal !== null ? `it was ended by ${signal}` : failure
      clearTimeout(timer)
      // What it wrote last may still be in the pipes; something that it left behind may hold them open.
      timer = setTimeout(() => finish(code, how), killGraceMs)
      child.once('close', () => finish(code, how))
    })
  })
}

function hasPipes(child: Partial<ChildProcessWithoutNullStreams>): boolean {
  return child.stdin !== undefined && child.stdout !== undefined && child.stderr !== undefined
}

interface OutputBuffer {
  /** What came so far; nothing more is read. */
  take(): string
}

function collectOutput(stream: Readable, onTooMuch: () => void): OutputBuffer {
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    if (bytes < maxKeptBytes) chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxOutputBytes) onTooMuch()
  })
  stream.on('error', () => undefined)
  return {
    take() {
      stream.destroy()
      return Buffer.concat(chunks).subarray(0, maxKeptBytes).toString('utf8')
    },
  }
}

function killProcessGroup(pid: number | undefined): void {
  if (pid !== undefined) signalProcessGroup(pid, 'SIGKILL')
}
