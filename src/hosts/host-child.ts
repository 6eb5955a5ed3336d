/**
 * The process of a host: started with its four pipes, watched, ended together with everything it started.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { toError } from '../lib/errors.ts'
import { signalProcessGroup } from '../lib/process-group.ts'
import { withTimeout } from '../lib/timers.ts'
import type { HostCommand } from './host-commands.ts'
import type { HostOutput } from './host-output.ts'
import { createLineReader } from './line-reader.ts'
import { startParentDeathWatchdog } from './parent-death-watchdog.ts'
import { readThrottled } from './throttled-reader.ts'

/**
 * Run by a shell that then becomes the host: limits are inherited, and Node cannot set its own. The kernel is told to
 * take the host first when memory runs out. A limit that cannot be set here is done without.
 */
const limitThenExecScript = `{ echo 800 >/proc/self/oom_score_adj; ulimit -c 0; ulimit -d "$0"; } 2>/dev/null
unset PWD OLDPWD SHLVL
exec "$@"`
const shell = '/bin/sh'
/** How long pipes are read after the end of the process: something that left its group may hold them open. */
const pipeDrainMs = 100

export interface HostChildOptions extends HostCommand {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly maxFrameBytes: number
  readonly output: HostOutput
  onLine(line: string): void
  /** The host sent a line beyond `maxFrameBytes`; this is how it begins. */
  onLineTooLong(beginning: string): void
  /** A pipe of the protocol broke; the end of the process follows, unless a handler has closed the pipe. */
  onPipeClosed(): void
}

export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it never ran. */
  readonly error?: Error
}

export interface HostChild {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined
  /** `line` without its break. Lost when the process is gone. */
  send(line: string): void
  /** How much of what was sent the host has not taken yet, in bytes or nearly so. */
  bufferedBytes(): number
  /** Closes the pipe to the host, upon which it ends in its own time. */
  close(): void
  /** Ends it by force, with everything it started. */
  kill(): void
  /** Resolves when it is gone, all it sent has been read, and its group was killed. Never rejects. */
  readonly exited: Promise<ChildExit>
}

/** Never throws: what goes wrong is how it `ended`. */
export function startHostChild(options: HostChildOptions): HostChild {
  const { child, error } = spawnChild(options)
  if (child === undefined) return failedToSpawn(Promise.resolve({ code: null, signal: null, error }))
  const exited = waitForExit(child)
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
    // Before it is called gone: grandchildren are still in its group.
    kill()
    hasExited = true
    watchdog.stop()
    await withTimeout(Promise.all([waitForClose(fromHost), waitForClose(stdout), waitForClose(stderr)]), pipeDrainMs)
    readController.abort()
    for (const pipe of Object.values(pipes)) pipe.destroy()
    return childExit
  })
  const { send, flush, unread: bufferedBytes } = createLineWriter(toHost)
  const close = () => {
    flush()
    toHost.end()
  }
  return { pid, send, bufferedBytes, close, kill, exited }
}

/** Lines of one turn of the event loop go out together: in a burst writing costs more than all the rest. */
function createLineWriter(pipe: Socket): { send(line: string): void; flush(): void; unread(): number } {
  let waiting = ''
  const flush = () => {
    if (waiting !== '') pipe.write(waiting)
    waiting = ''
  }
  const send = (line: string) => {
    if (waiting === '') process.nextTick(flush)
    waiting += `${line}\n`
  }
  return { send, flush, unread: () => pipe.writableLength + waiting.length }
}

/** One that never ran. */
function failedToSpawn(exited: Promise<ChildExit>): HostChild {
  const noop = () => undefined
  return { pid: undefined, send: noop, bufferedBytes: () => 0, close: noop, kill: noop, exited }
}

type SpawnResult =
  | { readonly child: ChildProcess; readonly error?: never }
  | { readonly child?: never; readonly error: Error }

function spawnChild({ command, args, dataLimitMb, env, cwd }: HostChildOptions): SpawnResult {
  const plain = [command, ...args] as const
  const [program, ...rest] = existsSync(shell)
    ? [shell, '-c', limitThenExecScript, String(dataLimitMb * 1024), ...plain]
    : plain
  try {
    return {
      child: spawn(program, rest, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] }),
    }
  } catch (error) {
    // Some reasons are thrown (an environment that is too large), others come as an event.
    return { error: toError(error) }
  }
}

interface Pipes {
  readonly stdout: Socket
  readonly stderr: Socket
  readonly toHost: Socket
  readonly fromHost: Socket
}

/** Undefined when there were no file descriptors left for them. */
function pipesOf(child: { readonly stdio?: readonly unknown[] }): Pipes | undefined {
  const [, stdout, stderr, toHost, fromHost] = child.stdio ?? []
  if (!(stdout instanceof Socket && stderr instanceof Socket)) return undefined
  return toHost instanceof Socket && fromHost instanceof Socket ? { stdout, stderr, toHost, fromHost } : undefined
}

function waitForExit(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error })
    })
  })
}

function waitForClose(pipe: Socket): Promise<void> {
  return new Promise((resolve) => (pipe.closed ? resolve() : pipe.once('close', () => resolve())))
}
