/**
 * A Chromium that the gateway starts, and the pipe over which it is controlled (DevTools protocol, messages that end with a zero byte).
 * A page can make messages as long as it wants, for example with `console.log`. The browser ends before one of them can fill the
 * memory of the gateway.
 */
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { Readable, Writable } from 'node:stream'
import type { ConnectOverCDPTransport } from 'playwright-core'
import { signalProcessGroup } from '../../lib/process-group.ts'
import { spawnFailure } from '../../lib/spawn-failure.ts'
import { maxAddressBytes } from '../../lib/unix-socket.ts'

export interface ChromiumProcess {
  readonly transport: ConnectOverCDPTransport
  /** Resolves when the process has ended, with the end of what it wrote to stderr. */
  readonly exited: Promise<string>
  /** Ends the process and those below it. Never rejects. */
  stop(): Promise<void>
}

export interface ChromiumOptions {
  readonly executablePath: string
  readonly profile: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** A message of the browser was longer than `maxMessageBytes`. It was killed. */
  onFlood(): void
}

/** Screenshots and the texts of long pages are below 10 MB. */
export const maxMessageBytes = 16 * 1_024 * 1_024
const maxErrorChars = 4_096
const stopMs = 3_000

/** In the directory for temporary files, with random characters at the end of the folder. */
const singletonSocket = '/org.chromium.Chromium.123456/SingletonSocket'

/** Chromium does not start where the path of its socket is too long. */
function temporaryDirectory(parent = tmpdir()): string {
  return Buffer.byteLength(`${parent}${singletonSocket}`) > maxAddressBytes ? '/tmp' : parent
}

/** Throws nothing: a program that cannot be started has exited. */
export function startChromium({ executablePath, profile, args, env, onFlood }: ChromiumOptions): ChromiumProcess {
  const child = spawn(executablePath, [...args, `--user-data-dir=${profile}`, '--remote-debugging-pipe'], {
    cwd: profile,
    env: { ...env, TMPDIR: temporaryDirectory(env['TMPDIR']) },
    // A group of its own: Ctrl+C in a terminal is for the gateway, which then closes the browser.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  const [, , , input, output] = child.stdio
  if (!(input instanceof Writable && output instanceof Readable)) throw new Error('the browser has no pipes')
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-maxErrorChars)
  })
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(spawnFailure(error, { program: executablePath, cwd: profile }).message))
    child.once('close', () => resolve(errors))
  })
  const kill = () => {
    if (child.pid !== undefined) signalProcessGroup(child.pid, 'SIGKILL')
  }
  return {
    exited,
    transport: createPipeTransport(input, output, () => {
      kill()
      onFlood()
    }),
    async stop() {
      input.end()
      const timer = setTimeout(kill, stopMs)
      await exited
      clearTimeout(timer)
    },
  }
}

/** Parses the messages of the pipe one after the other. Calls `onFlood` once for a message that is too long, and reads no more. */
export function createPipeTransport(input: Writable, output: Readable, onFlood: () => void): ConnectOverCDPTransport {
  let parts: Buffer[] = []
  let bytes = 0
  let isClosed = false

  const transport: ConnectOverCDPTransport = {
    send(message) {
      if (isClosed) throw new Error('Connection closed')
      input.write(`${JSON.stringify(message)}\0`)
    },
    close: () => close(),
  }

  function close(): void {
    if (isClosed) return
    isClosed = true
    parts = []
    input.end()
    transport.onclose?.('closed')
  }

  function take(part: Buffer): boolean {
    bytes += part.length
    if (bytes <= maxMessageBytes) {
      parts.push(part)
      return true
    }
    output.destroy()
    close()
    onFlood()
    return false
  }

  function read(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(0); end !== -1 && !isClosed; end = rest.indexOf(0)) {
      if (!take(rest.subarray(0, end))) return
      const text = Buffer.concat(parts).toString()
      parts = []
      bytes = 0
      rest = rest.subarray(end + 1)
      // Each message in a turn of the event loop of its own, as Playwright expects.
      setImmediate(() => {
        if (!isClosed) transport.onmessage?.(JSON.parse(text))
      })
    }
    if (!isClosed && rest.length > 0) take(rest)
  }

  output.on('data', read)
  output.once('close', close)
  // A pipe whose other end is gone: the exit of the process tells of it.
  for (const stream of [input, output]) stream.on('error', () => undefined)
  return transport
}

/** Resolves with the error when the process ends before `work`. */
export async function unlessExited<T>(work: Promise<T>, { exited }: ChromiumProcess): Promise<T> {
  work.catch(() => undefined)
  const failed = exited.then((errors) => {
    throw new Error(errors === '' ? 'the browser has ended' : errors)
  })
  return await Promise.race([work, failed])
}
