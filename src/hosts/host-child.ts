/**
 * The child process of a host: starts it with four pipes, watches it and kills it together with its child processes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { toError } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import { signalProcessGroup } from '../lib/process-group.ts'
import { spawnFailure } from '../lib/spawn-failure.ts'
import { withTimeout } from '../lib/timers.ts'
import type { HostCommand } from './host-commands.ts'
import type { HostOutput } from './host-output.ts'
import { createLineReader } from './line-reader.ts'
import { startParentDeathWatchdog } from './parent-death-watchdog.ts'
import { readThrottled } from './throttled-reader.ts'

/**
 * Sets resource limits in a shell that is then replaced by the host, because Node cannot set its own limits. Makes the host
 * the first candidate when the system is out of memory. Limits that cannot be set are skipped.
 */
const limitThenExecScript = `{ echo 800 >/proc/self/oom_score_adj; ulimit -c 0; ulimit -d "$0"; } 2>/dev/null
unset PWD OLDPWD SHLVL
exec "$@"`
const shell = '/bin/sh'
/** Time to read the pipes after the exit, because a process outside the group may keep them open. */
const pipeDrainMs = 100

export interface HostChildOptions extends HostCommand {
  readonly env: Readonly<Record<string, string>>
  /** A folder of the gateway; created if it is missing. */
  readonly cwd: string
  readonly maxFrameBytes: number
  readonly output: HostOutput
  onLine(line: string): void
  /** Called with the beginning of a line that is longer than `maxFrameBytes`. */
  onLineTooLong(beginning: string): void
  /** A protocol pipe was closed: the process is exiting, or a handler has closed the pipe. */
  onPipeClosed(): void
}

export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Why the process could not be started. */
  readonly error?: Error
}

export interface HostChild {
  /** `undefined` if the process could not be started. */
  readonly pid: number | undefined
  /** Sends a line without its line break. Ignored after the exit. */
  send(line: string): void
  /** Approximate number of sent bytes that the host has not read yet. */
  bufferedBytes(): number
  /** Closes the pipe to the host, which makes the host exit. */
  close(): void
  /** Kills the process and its child processes. */
  kill(): void
  /** Resolves when the process has exited, its output was read and its process group was killed. Never rejects. */
  readonly exited: Promise<ChildExit>
}

/** Never throws. A failed start is reported by `exited`. */
export function startHostChild(options: HostChildOptions): HostChild {
  const { child, error } = spawnChild(options)
  if (child === undefined) return failedToSpawn(Promise.resolve({ code: null, signal: null, error }))
  const exited = waitForExit(child, options)
  const pipes = pipesOf(child)
  if (child.pid === undefined || pipes === undefined) return failedToSpawn(exited)
  return createRunningChild(child.pid, pipes, exited, options)
}

function createRunningChild(pid: number, pipes: Pipes, exit: Promise<ChildExit>, options: HostChildOptions): HostChild {
  const { stdout, stderr, toHost, fromHost } = pipes
  const watchdog = startParentDeathWatchdog(pid)
  options.output.readStream('stdout', stdout)
  options.output.readStream('stderr', stderr)
  const reader = createLineReader(options.maxFrameBytes, options.onLine, options.onLineTooLong)
  const readController = new AbortController()
  readThrottled(fromHost, reader.add, readController.signal)
  for (const pipe of [toHost, fromHost]) pipe.on('error', options.onPipeClosed)
  fromHost.once('end', options.onPipeClosed)
  let hasExited = false
  const kill = () => {
    if (!hasExited) signalProcessGroup(pid, 'SIGKILL')
  }
  const exited = exit.then(async (childExit) => {
    // Child processes of the host are still in its process group.
    kill()
    hasExited = true
    watchdog.stop()
    await withTimeout(Promise.all([waitForClose(fromHost), waitForClose(stdout), waitForClose(stderr)]), pipeDrainMs)
    readController.abort()
    for (const pipe of Object.values(pipes)) pipe.destroy()
    return childExit
  })
  const { send, flush, bufferedBytes } = createLineWriter(toHost)
  const close = () => {
    flush()
    toHost.end()
  }
  return { pid, send, bufferedBytes, close, kill, exited }
}

/** Writes the lines of one event loop turn together, because many small writes are expensive. */
function createLineWriter(pipe: Socket): { send(line: string): void; flush(): void; bufferedBytes(): number } {
  let waiting = ''
  const flush = () => {
    if (waiting !== '') pipe.write(waiting)
    waiting = ''
  }
  const send = (line: string) => {
    if (waiting === '') process.nextTick(flush)
    waiting += `${line}\n`
  }
  return { send, flush, bufferedBytes: () => pipe.writableLength + waiting.length }
}

function failedToSpawn(exited: Promise<ChildExit>): HostChild {
  const noop = () => undefined
  return { pid: undefined, send: noop, bufferedBytes: () => 0, close: noop, kill: noop, exited }
}

type SpawnResult =
  | { readonly child: ChildProcess; readonly error?: never }
  | { readonly child?: never; readonly error: Error }

function spawnChild({ command, args, dataLimitMb, env, cwd }: HostChildOptions): SpawnResult {
  const commandLine = [command, ...args] as const
  const [program, ...rest] = existsSync(shell)
    ? [shell, '-c', limitThenExecScript, String(dataLimitMb * 1024), ...commandLine]
    : commandLine
  try {
    ensureDirectory(cwd)
    const child = spawn(program, rest, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] })
    return { child }
  } catch (error) {
    // Some errors are thrown, such as an environment that is too large. Others are emitted as events.
    return { error: toError(error) }
  }
}

interface Pipes {
  readonly stdout: Socket
  readonly stderr: Socket
  readonly toHost: Socket
  readonly fromHost: Socket
}

/** `undefined` if no file descriptors were available. */
function pipesOf(child: { readonly stdio?: readonly unknown[] }): Pipes | undefined {
  const [, stdout, stderr, toHost, fromHost] = child.stdio ?? []
  if (!(stdout instanceof Socket && stderr instanceof Socket)) return undefined
  return toHost instanceof Socket && fromHost instanceof Socket ? { stdout, stderr, toHost, fromHost } : undefined
}

function waitForExit(child: ChildProcess, { command, cwd }: HostChildOptions): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.on('error', (error) => {
      if (child.pid === undefined)
        resolve({ code: null, signal: null, error: spawnFailure(error, { program: command, cwd }) })
    })
  })
}

function waitForClose(pipe: Socket): Promise<void> {
  return new Promise((resolve) => (pipe.closed ? resolve() : pipe.once('close', () => resolve())))
}
