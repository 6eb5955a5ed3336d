/**
 * The process of a host: started with its four pipes, watched, ended together with everything it started.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { toError } from '../lib/errors.ts'
import { signalGroup } from '../lib/process-group.ts'
import { within } from '../lib/wait.ts'
import { readFairly } from './fair-share.ts'
import type { HostCommand } from './languages.ts'
import { createLineReader } from './lines.ts'
import type { Output } from './output.ts'
import { postWatchman } from './watchman.ts'

/**
 * Run by a shell that then becomes the host: limits are inherited, and Node cannot set its own. The kernel is told to
 * take the host first when memory runs out. A limit that cannot be set here is done without.
 */
const limitThenRun = `{ echo 800 >/proc/self/oom_score_adj; ulimit -c 0; ulimit -d "$0"; } 2>/dev/null
unset PWD OLDPWD SHLVL
exec "$@"`
const shell = '/bin/sh'
/** How long pipes are read after the end of the process: something that left its group may hold them open. */
const drainMs = 100

export interface ChildOptions extends HostCommand {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly maxFrameBytes: number
  readonly output: Output
  onLine(line: string): void
  /** The host sent a line beyond `maxFrameBytes`; this is how it begins. */
  onTooLong(beginning: string): void
  /** A pipe of the protocol broke; the end of the process follows, unless a handler has closed the pipe. */
  onBroken(): void
}

export interface Ending {
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
  unread(): number
  /** Closes the pipe to the host, upon which it ends in its own time. */
  close(): void
  /** Ends it by force, with everything it started. */
  kill(): void
  /** Resolves when it is gone, all it sent has been read, and its group was killed. Never rejects. */
  readonly ended: Promise<Ending>
}

/** Never throws: what goes wrong is how it `ended`. */
export function startChild(options: ChildOptions): HostChild {
  const { child, error } = launch(options)
  if (child === undefined) return stillborn(Promise.resolve({ code: null, signal: null, error }))
  const exit = exitOf(child)
  const pipes = pipesOf(child)
  if (child.pid === undefined || pipes === undefined) return stillborn(exit)
  return living(child.pid, pipes, exit, options)
}

function living(pid: number, pipes: Pipes, exit: Promise<Ending>, options: ChildOptions): HostChild {
  const { stdout, stderr, toHost, fromHost } = pipes
  const watchman = postWatchman(pid)
  options.output.follow('stdout', stdout)
  options.output.follow('stderr', stderr)
  const reader = createLineReader(options.maxFrameBytes, options.onLine, options.onTooLong)
  const over = new AbortController()
  readFairly(fromHost, reader.add, over.signal)
  for (const pipe of [toHost, fromHost]) pipe.on('error', options.onBroken)
  fromHost.once('end', options.onBroken)
  let gone = false
  const kill = () => {
    if (!gone) signalGroup(pid, 'SIGKILL')
  }
  const ended = exit.then(async (ending) => {
    // Before it is called gone: grandchildren are still in its group.
    kill()
    gone = true
    watchman.dismiss()
    await within(Promise.all([closeOf(fromHost), closeOf(stdout), closeOf(stderr)]), drainMs)
    over.abort()
    for (const pipe of Object.values(pipes)) pipe.destroy()
    return ending
  })
  const { send, flush, unread } = createSender(toHost)
  const close = () => {
    flush()
    toHost.end()
  }
  return { pid, send, unread, close, kill, ended }
}

/** Lines of one turn of the event loop go out together: in a burst writing costs more than all the rest. */
function createSender(pipe: Socket): { send(line: string): void; flush(): void; unread(): number } {
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
function stillborn(ended: Promise<Ending>): HostChild {
  const nothing = () => undefined
  return { pid: undefined, send: nothing, unread: () => 0, close: nothing, kill: nothing, ended }
}

type Launched =
  | { readonly child: ChildProcess; readonly error?: never }
  | { readonly child?: never; readonly error: Error }

function launch({ command, args, dataLimitMb, env, cwd }: ChildOptions): Launched {
  const plain = [command, ...args] as const
  const [program, ...rest] = existsSync(shell)
    ? [shell, '-c', limitThenRun, String(dataLimitMb * 1024), ...plain]
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

function exitOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error })
    })
  })
}

function closeOf(pipe: Socket): Promise<void> {
  return new Promise((resolve) => (pipe.closed ? resolve() : pipe.once('close', () => resolve())))
}
