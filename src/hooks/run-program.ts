/**
 * Runs a program with an input, collects its output up to a limit, and kills it with its child processes after a timeout.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { messageOf } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import { signalProcessGroup } from '../lib/process-group.ts'
import { spawnFailure } from '../lib/spawn-failure.ts'

export interface ProgramOptions {
  readonly argv: readonly [string, ...string[]]
  readonly input: string
  readonly env: Readonly<Record<string, string>>
  /** A folder of the gateway; created if it is missing. */
  readonly cwd: string
  readonly timeoutMs: number
}

export interface ProgramResult {
  /** Null if the program was killed or did not start. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Why the program did not exit by itself; '' if it did. */
  readonly failure: string
}

/** Bytes of each output stream that are kept. */
const maxKeptBytes = 1_048_576
/** A program that writes more is killed, because reading costs the gateway more than writing costs the program. */
const maxOutputBytes = 16 * maxKeptBytes
/** Time to wait for a process that cannot be killed or that keeps the pipes open. */
const killGraceMs = 100

/** Never rejects. */
export async function runProgram(program: ProgramOptions): Promise<ProgramResult> {
  try {
    return await spawnAndWait(program)
  } catch (error) {
    // `spawn` throws for arguments that the system cannot accept.
    return { code: null, stdout: '', stderr: '', failure: messageOf(error) }
  }
}

function spawnAndWait({ argv, input, env, cwd, timeoutMs }: ProgramOptions): Promise<ProgramResult> {
  const [file, ...args] = argv
  ensureDirectory(cwd)
  // A process group of its own, so that its child processes can be killed with it.
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
      // Killed before the process id can be reused.
      killProcessGroup(child.pid)
      const [stdout = '', stderr = ''] = outputs.map(({ take }) => take())
      resolve({ code, failure: reason, stdout, stderr })
    }
    const abort = (reason: string) => {
      if (failure !== '') return
      failure = reason
      killProcessGroup(child.pid)
      // A process of another user cannot be killed, and one that is blocked in the kernel does not exit immediately.
      clearTimeout(timer)
      timer = setTimeout(() => finish(null, failure), killGraceMs)
    }
    child.once('error', (error) => finish(null, spawnFailure(error, { program: file, cwd }).message))
    // Without free file descriptors the child has no pipes and did not start.
    if (!hasPipes(child)) return
    const onOverflow = () => abort(`it wrote more than ${maxOutputBytes} bytes`)
    outputs = [collectOutput(child.stdout, onOverflow), collectOutput(child.stderr, onOverflow)]
    timer = setTimeout(() => abort(`it did not exit within ${timeoutMs} ms`), timeoutMs)
    // The program may exit without reading its input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    child.once('exit', (code, signal) => {
      child.stdin.destroy()
      const how = failure === '' && signal !== null ? `it was terminated by ${signal}` : failure
      clearTimeout(timer)
      // The pipes may still contain output, and a child process may keep them open.
      timer = setTimeout(() => finish(code, how), killGraceMs)
      child.once('close', () => finish(code, how))
    })
  })
}

function hasPipes(child: Partial<ChildProcessWithoutNullStreams>): boolean {
  return child.stdin !== undefined && child.stdout !== undefined && child.stderr !== undefined
}

interface OutputBuffer {
  /** Returns the collected output and stops reading. */
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
