/**
 * The child processes of a benchmark. Each one exits with the benchmark, so that its CPU time is measured separately.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createSendRequest, type SendRequest } from './child-requests.ts'

export interface Child {
  readonly pid: number
  readonly process: ChildProcess
  readonly request: SendRequest
  /** Kills the process and resolves after its exit. */
  kill(): Promise<void>
}

export interface ChildOptions {
  /** Flags of node. */
  readonly flags?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a file of this directory with an IPC channel and resolves at its first message. */
export async function startChild(file: string, { flags = [], args = [], env = {} }: ChildOptions = {}): Promise<Child> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, [...flags, path, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { PATH: process.env['PATH'], ...env },
  })
  let output = ''
  child.stderr?.on('data', (piece) => {
    output = (output + piece).slice(-4_000)
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`${file} could not be started`)
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code, signal) => reject(new Error(`${file} ended (${signal ?? code}): ${output}`)))
  })
  return { pid, process: child, request: createSendRequest(child, file), kill: () => killProcess(child) }
}

/** Kills the process and resolves after its exit. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGKILL')
  await exited
}

/** Resolves with the first line of an output that contains or matches `text`. Rejects when the output ends before. */
export function waitForLine(stream: NodeJS.ReadableStream | null, text: string | RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let rest = ''
    stream?.on('data', (piece) => {
      const lines = (rest + piece).split('\n')
      rest = lines.pop() ?? ''
      const found = lines.find((line) => (typeof text === 'string' ? line.includes(text) : text.test(line)))
      if (found !== undefined) resolve(found)
    })
    stream?.on('end', () => reject(new Error(`the output ended without "${text}"`)))
  })
}
