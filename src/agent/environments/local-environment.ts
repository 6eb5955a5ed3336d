/**
 * Runs commands on this machine, as the user of the gateway.
 *
 * Every command is the leader of a process group of its own, so that ending it ends what it started.
 */
import { Socket } from 'node:net'
import { isAbsolute } from 'node:path'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { signalProcessGroup, terminateProcessGroup } from '../../lib/process-group.ts'
import { withTimeout } from '../../lib/timers.ts'
import { createBackgroundCommand } from './background-command.ts'
import type { Environment, ExecuteOptions, ExecuteResult } from './environment.ts'
import { type EnvironmentVariables, filterEnvironment } from './filter-environment.ts'
import { createOutputBuffer } from './output-buffer.ts'
import { findShell, resolveWorkingDirectory, type ShellProcess, startShell } from './shell-process.ts'

/** After the shell's end, how long to wait for a pipe that something else may hold open. */
const drainMs = 150
/** How long a killed process may take to vanish before the call returns without it. */
const exitTimeoutMs = 1_000

export interface LocalEnvironmentOptions {
  /** Absolute. Need not exist yet; a command started while it does not exist fails with a clear error. */
  readonly cwd: string
  /** The environment of the gateway; commands see only its plain variables (see `plainEnvironment`). */
  readonly env: EnvironmentVariables
  /** The folder that holds `hermes`; first on the PATH of every command. */
  readonly binDir?: string
  /** `terminal.env_passthrough`. */
  readonly passthrough?: readonly string[]
  /** Names of secrets that no setting lets through. */
  readonly blocked?: readonly string[]
  /** Without it bash, or sh where there is none. */
  readonly shell?: string
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs?: number
}

/** Throws `HermesError` when `cwd` is not absolute. */
export function createLocalEnvironment(options: LocalEnvironmentOptions): Environment {
  const { cwd, graceMs = 500, shell = findShell() } = options
  if (!isAbsolute(cwd)) throw new HermesError('terminal/no-folder', `It must be an absolute path, not ${cwd}.`)
  const env = filterEnvironment({
    env: options.env,
    passthrough: options.passthrough ?? [],
    blocked: options.blocked ?? [],
    binDir: options.binDir,
  })
  /** What must be ended at cleanup, by group. */
  const running = new Map<number, () => void>()

  const start = (command: string, folder: string | undefined, input: boolean): ShellProcess => {
    // A group that has ended since must not be signalled later: its number may belong to a stranger by then.
    for (const pid of running.keys()) if (!signalProcessGroup(pid, 0)) running.delete(pid)
    const shellProcess = startShell(command, { shell, cwd: resolveWorkingDirectory(cwd, folder), env, input })
    running.set(shellProcess.pid, () => shellProcess.output.destroy())
    return shellProcess
  }

  return {
    kind: 'local',
    cwd,

    async execute(command, { cwd: folder, ...limits }) {
      if (limits.signal.aborted) return { output: '', exitCode: null, timedOut: false, aborted: true }
      const shellProcess = start(command, folder, false)
      const { result, left } = await runToEnd(shellProcess, limits, graceMs)
      if (!left) running.delete(shellProcess.pid)
      return result
    },

    spawn(command, { cwd: folder }) {
      const shellProcess = start(command, folder, true)
      const background = createBackgroundCommand(shellProcess, graceMs, drainMs)
      void background.exited.then(() => {
        if (!signalProcessGroup(shellProcess.pid, 0)) running.delete(shellProcess.pid)
      })
      return background
    },

    async cleanup() {
      const groups = [...running]
      running.clear()
      await Promise.all(groups.map(([pid]) => terminateProcessGroup(pid, graceMs)))
      for (const [, release] of groups) release()
    },
  }
}

/** `left`: something the command started goes on in the background. */
async function runToEnd(
  { pid, child, output }: ShellProcess,
  limits: Omit<ExecuteOptions, 'cwd'>,
  graceMs: number,
): Promise<{ result: ExecuteResult; left: boolean }> {
  const kept = createOutputBuffer(limits.maxOutputBytes)
  const keep = (chunk: Buffer) => kept.add(chunk)
  output.on('data', keep)
  const failure = new Promise<void>((resolve) => {
    const note = (error: Error) => {
      kept.add(Buffer.from(`\n[${messageOf(error)}]\n`))
      resolve()
    }
    child.once('error', note)
    output.once('error', note)
  })
  const closed = new Promise<void>((resolve) => output.once('close', resolve))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))

  const why = await raceCompletion(exited, failure, limits)
  let left = false
  if (why === 'ended') {
    const drained = await withTimeout(closed, drainMs)
    left = signalProcessGroup(pid, 0) || !drained.done
    // Its pipe stays open and is read to nowhere: closing it would kill what the command left running.
    if (left) detachOutput(output, keep)
  } else {
    await terminateProcessGroup(pid, graceMs)
    await withTimeout(exited, exitTimeoutMs)
    await withTimeout(closed, drainMs)
    output.destroy()
  }
  const note = left ? '\n[something this command started is still running; what it prints from now on is lost]\n' : ''
  return {
    result: {
      output: kept.text() + note,
      exitCode: child.exitCode,
      timedOut: why === 'timeout',
      aborted: why === 'abort',
    },
    left,
  }
}

async function raceCompletion(
  exited: Promise<unknown>,
  failure: Promise<void>,
  { signal, timeoutMs }: Pick<ExecuteOptions, 'signal' | 'timeoutMs'>,
): Promise<'ended' | 'failed' | 'timeout' | 'abort'> {
  const done = new AbortController()
  const stopped = new Promise<'timeout' | 'abort'>((resolve) => {
    const timer = setTimeout(() => resolve('timeout'), timeoutMs)
    done.signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
    signal.addEventListener('abort', () => resolve('abort'), { once: true, signal: done.signal })
  })
  try {
    return await Promise.race([exited.then(() => 'ended' as const), failure.then(() => 'failed' as const), stopped])
  } finally {
    done.abort()
  }
}

function detachOutput(output: ShellProcess['output'], keep: (chunk: Buffer) => void): void {
  output.off('data', keep)
  output.resume()
  if (output instanceof Socket) output.unref()
}
