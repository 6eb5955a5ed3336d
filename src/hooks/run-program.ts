/**
 * Runs a program to its end: its input, its outputs up to a limit, and a time after which it and all it started are killed.
 */
import { spawn } from 'node:child_process'
import { messageOf, systemCode } from '../lib/errors.ts'

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

const maxOutputBytes = 1_048_576

/** Never rejects. */
export function runProgram({ words, input, env, cwd, timeoutMs }: Program): Promise<Ended> {
  return new Promise((resolve) => {
    const [program, ...args] = words
    // A group of its own, so that what it started ends with it.
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    const outputs = { stdout: collector(), stderr: collector() }
    let problem = ''
    let isOver = false
    const timer = setTimeout(() => {
      problem = `it was not done after ${timeoutMs} ms`
      killAll(child.pid)
    }, timeoutMs)
    const end = (code: number | null, why: string) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      // Before its number can be somebody else's.
      killAll(child.pid)
      resolve({ code, problem: why, stdout: outputs.stdout.text(), stderr: outputs.stderr.text() })
    }
    child.stdout.on('data', outputs.stdout.add)
    child.stderr.on('data', outputs.stderr.add)
    // It need not read what it is given.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    child.once('error', (error) => end(null, messageOf(error)))
    child.once('exit', (code, signal) => {
      const how = problem === '' && signal !== null ? `it was ended by ${signal}` : problem
      // What it wrote last may still be in the pipes; something that it left behind may hold them open.
      const late = setTimeout(() => end(code, how), 100)
      child.once('close', () => {
        clearTimeout(late)
        end(code, how)
      })
    })
  })
}

function collector() {
  const chunks: Buffer[] = []
  let bytes = 0
  return {
    add(chunk: Buffer) {
      if (bytes < maxOutputBytes) chunks.push(chunk)
      bytes += chunk.length
    },
    text: () => Buffer.concat(chunks).subarray(0, maxOutputBytes).toString('utf8'),
  }
}

function killAll(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // All of them have ended already.
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
