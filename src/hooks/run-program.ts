/**
 * Runs a program to its end: its input, its outputs up to a limit, and a time after which it and all it started are killed.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { messageOf } from '../lib/errors.ts'
import { signalGroup } from '../lib/process-group.ts'

export interface Program {
  readonly words: readonly [string, ...string[]]
  readonly input: string
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly timeoutMs: number
}

export interface Ended {
  /** Null when it was killed or never ran. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Why it did not end by itself with a code; '' where it did. */
  readonly problem: string
}

/** Of each output this much is kept … */
const keptBytes = 1_048_576
/** … and one that writes more than this is ended: reading it costs the gateway more than writing costs the program. */
const maxBytes = 16 * keptBytes
/** How long something that cannot be killed, or that holds the pipes open, is waited for. */
const lateMs = 100

/** Never rejects. */
export async function runProgram(program: Program): Promise<Ended> {
  try {
    return await runToEnd(program)
  } catch (error) {
    // A command that the system cannot even be asked to run.
    return { code: null, stdout: '', stderr: '', problem: messageOf(error) }
  }
}

function runToEnd({ words, input, env, cwd, timeoutMs }: Program): Promise<Ended> {
  const [file, ...args] = words
  // A group of its own, so that what it started ends with it.
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  return new Promise((resolve) => {
    let problem = ''
    let isOver = false
    let timer: NodeJS.Timeout | undefined
    let outputs: readonly Output[] = []
    const end = (code: number | null, why: string) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      // Before its number can be somebody else's.
      killAll(child.pid)
      const [stdout = '', stderr = ''] = outputs.map(({ take }) => take())
      resolve({ code, problem: why, stdout, stderr })
    }
    const endEarly = (why: string) => {
      if (problem !== '') return
      problem = why
      killAll(child.pid)
      // What runs as somebody else cannot be killed, and what the kernel holds does not end at once.
      clearTimeout(timer)
      timer = setTimeout(() => end(null, problem), lateMs)
    }
    child.once('error', (error) => end(null, messageOf(error)))
    // Without file descriptors for pipes there is a child that never ran, and no pipes.
    if (!hasPipes(child)) return
    const tooMuch = () => endEarly(`it wrote more than ${maxBytes} bytes`)
    outputs = [collect(child.stdout, tooMuch), collect(child.stderr, tooMuch)]
    timer = setTimeout(() => endEarly(`it was not done after ${timeoutMs} ms`), timeoutMs)
    // It need not read what it is given.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    child.once('exit', (code, signal) => {
      child.stdin.destroy()
      const how = problem === '' && signal !== null ? `it was ended by ${signal}` : problem
      clearTimeout(timer)
      // What it wrote last may still be in the pipes; something that it left behind may hold them open.
      timer = setTimeout(() => end(code, how), lateMs)
      child.once('close', () => end(code, how))
    })
  })
}

function hasPipes(child: Partial<ChildProcessWithoutNullStreams>): boolean {
  return child.stdin !== undefined && child.stdout !== undefined && child.stderr !== undefined
}

interface Output {
  /** What came so far; nothing more is read. */
  take(): string
}

function collect(stream: Readable, onTooMuch: () => void): Output {
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    if (bytes < keptBytes) chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxBytes) onTooMuch()
  })
  stream.on('error', () => undefined)
  return {
    take() {
      stream.destroy()
      return Buffer.concat(chunks).subarray(0, keptBytes).toString('utf8')
    },
  }
}

function killAll(pid: number | undefined): void {
  if (pid !== undefined) signalGroup(pid, 'SIGKILL')
}
