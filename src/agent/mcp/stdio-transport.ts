/**
 * Speaks with a server that is a program of this machine: one JSON message a line (MCP, stdio). In place of the transport of the
 * SDK, because the program runs in the sandbox, is ended with all processes that it started, also when the gateway is killed, and
 * is held to limits.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { deserializeMessage, type JSONRPCMessage, serializeMessage } from '@modelcontextprotocol/client'
import { messageOf } from '../../lib/errors.ts'
import { terminateProcessGroup } from '../../lib/process-group.ts'
import { watchProcessGroup } from '../../lib/process-group-watch.ts'
import { spawnFailure } from '../../lib/spawn-failure.ts'
import type { ServerTransport } from './transport.ts'

export interface StdioTransportOptions {
  readonly argv: readonly string[]
  /** The directory as this machine sees it. */
  readonly cwd: string
  /** The kind of the sandbox whose program `argv` begins with. Absent: the program runs without one. */
  readonly sandbox?: string
  /** All variables of the program. */
  readonly env: Readonly<Record<string, string>>
  /** One line that the program wrote to its error output. */
  onErrorLine(line: string): void
  /** ms between the signal to end and the end by force. */
  readonly graceMs?: number
  readonly limits?: StdioLimits
}

export interface StdioLimits {
  readonly maxMessageBytes: number
  /** Lines in ten seconds, whatever they say. */
  readonly maxLines: number
  /** Lines in ten seconds that are no messages. */
  readonly maxInvalidLines: number
}

const defaultLimits: StdioLimits = { maxMessageBytes: 10 * 1_048_576, maxLines: 20_000, maxInvalidLines: 200 }
const windowMs = 10_000
const maxErrorLineBytes = 4_096
/** Time that a program has to end after its input was closed. */
const inputGraceMs = 200

type ServerProcess = ChildProcessByStdio<Writable, Readable, Readable>

export function createStdioTransport(options: StdioTransportOptions): ServerTransport {
  const { maxMessageBytes, maxLines, maxInvalidLines } = options.limits ?? defaultLimits
  let child: ServerProcess | undefined
  let endWatch: (() => void) | undefined
  let isClosed = false
  let ending: Promise<void> | undefined
  let windowStart = 0
  let lines = 0
  let invalidLines = 0

  const closed = () => {
    if (isClosed) return
    isClosed = true
    transport.onclose?.()
  }
  const fail = (reason: string) => {
    transport.onerror?.(new Error(reason))
    void transport.close()
  }
  const receive = (line: Buffer) => {
    if (isClosed) return
    const now = performance.now()
    if (now - windowStart > windowMs) [windowStart, lines, invalidLines] = [now, 0, 0]
    lines += 1
    if (lines > maxLines) return fail(`the server sent more than ${maxLines} lines in ${windowMs / 1_000} seconds`)
    const text = line.toString('utf8').trim()
    if (text === '') return
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(text)
    } catch (error) {
      // Some programs print greetings to their output.
      invalidLines += 1
      if (invalidLines > maxInvalidLines) return fail('the server writes lines that are no messages')
      transport.onerror?.(
        new Error(`the server sent a line that is no message: ${text.slice(0, 200)}`, { cause: error }),
      )
      return
    }
    transport.onmessage?.(message)
  }

  const transport: ServerTransport = {
    sandbox: options.sandbox,
    async start() {
      child = await startProcess(options)
      const onWatchError = (error: Error) =>
        transport.onerror?.(new Error('the server would outlive a killed gateway', { cause: error }))
      if (child.pid !== undefined) endWatch = watchProcessGroup(child.pid, onWatchError)
      if (isClosed) {
        await transport.close()
        throw new Error('the server was stopped')
      }
      readLines(child.stdout, maxMessageBytes, receive, () =>
        fail(`the server sent more than ${maxMessageBytes} bytes without a line break`),
      )
      readLines(child.stderr, maxErrorLineBytes, (line) => options.onErrorLine(line.toString('utf8')))
      for (const stream of [child.stdin, child.stdout, child.stderr])
        stream.on('error', (error) =>
          transport.onerror?.(new Error(`the connection to the server broke: ${messageOf(error)}`)),
        )
      child.once('exit', () => void transport.close())
    },
    async send(message) {
      if (child === undefined || isClosed || !child.stdin.writable) throw new Error('the server has ended')
      const { stdin } = child
      if (stdin.write(serializeMessage(message))) return
      // A server that reads nothing ends the wait by its end.
      await new Promise<void>((resolve) => {
        const done = () => {
          stdin.off('drain', done)
          stdin.off('close', done)
          resolve()
        }
        stdin.once('drain', done)
        stdin.once('close', done)
      })
    },
    // Everyone who closes it waits for the end of the program.
    async close() {
      closed()
      if (child !== undefined) ending ??= endProcess(child, options.graceMs ?? 1_000).finally(() => endWatch?.())
      await ending
    },
  }
  return transport
}

/** Rejects with an error that says what is missing when the program cannot be started. */
function startProcess({ argv, cwd, env, sandbox }: StdioTransportOptions): Promise<ServerProcess> {
  const [program = '', ...args] = argv
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(spawnFailure(error, { program, cwd, sandbox }))
    child.once('error', fail)
    child.once('spawn', () => {
      child.off('error', fail)
      child.on('error', () => undefined)
      resolve(child)
    })
  })
}

/** Ends the program and what it started. */
async function endProcess(child: ServerProcess, graceMs: number): Promise<void> {
  const { pid } = child
  child.stdin.end()
  if (child.exitCode === null && child.signalCode === null) {
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    await Promise.race([exited, wait(inputGraceMs, undefined, { ref: false })])
  }
  // The group is ended even after the process has: it may have started others.
  if (pid !== undefined) await terminateProcessGroup(pid, graceMs)
  // Its last words may not have been read yet. A process outside of the group may keep the pipe open.
  if (!child.stderr.readableEnded && !child.stderr.destroyed) {
    const ended = new Promise<void>((resolve) => child.stderr.once('close', resolve))
    await Promise.race([ended, wait(inputGraceMs, undefined, { ref: false })])
  }
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
}

/**
 * Calls `onLine` for each line without its line break. A longer line than `maxBytes` calls `onTooLong` once, after which nothing is
 * read; without it, the rest of the line is dropped.
 */
function readLines(stream: Readable, maxBytes: number, onLine: (line: Buffer) => void, onTooLong?: () => void): void {
  let parts: Buffer[] = []
  let bytes = 0
  let isEnded = false
  const keep = (part: Buffer) => {
    if (bytes + part.length <= maxBytes) parts.push(part)
    else if (onTooLong !== undefined) {
      isEnded = true
      stream.resume()
      onTooLong()
    } else if (bytes < maxBytes) parts.push(part.subarray(0, maxBytes - bytes))
    bytes += part.length
  }
  stream.on('data', (chunk: Buffer) => {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1 && !isEnded; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end))
      from = end + 1
      const line = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
      parts = []
      bytes = 0
      if (!isEnded) onLine(line)
    }
    if (isEnded) parts = []
    else if (from < chunk.length) keep(chunk.subarray(from))
  })
}
