/**
 * Runs commands on this machine as the user of the gateway, in a sandbox if there is one. Every command is the leader of its
 * own process group, so that killing it kills the processes that it started. The first process of a process namespace is in
 * that group too, so SIGKILL to the group ends everything in the namespace. That process also keeps the output open until
 * the namespace is empty. It may stay a zombie for a while, so the existence of the group says nothing.
 */

import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { delimiter, isAbsolute, resolve } from 'node:path'
import { lazy } from '../../lib/cache.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { signalProcessGroup, terminateProcessGroup } from '../../lib/process-group.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { createBackgroundCommand, type ShellProcess } from './background-command.ts'
import type { Environment, ExecuteOptions, ExecuteResult, SpawnOptions } from './environment.ts'
import type { EnvironmentFiles } from './files.ts'
import { createOutputBuffer } from './output-buffer.ts'
import { defaultPath, type EnvironmentVariables, filterEnvironment } from './passed-variables.ts'

/** How long to wait for the output pipe after the shell has exited; another process may keep it open. */
const drainMs = 150
/** How long to wait for the exit of a killed process. */
const exitTimeoutMs = 1_000

export interface LocalEnvironmentOptions {
  /** Default: `local`. */
  readonly kind?: 'local' | 'bwrap'
  /** Absolute. It may be missing until a command starts. */
  readonly cwd: string
  /** The environment of the gateway; commands receive a filtered copy (see `filterEnvironment`). */
  readonly env: EnvironmentVariables
  /** The directory that contains `hermes`; first on the PATH of every command. */
  readonly binDir?: string
  /** `terminal.env_passthrough`. */
  readonly passthrough?: readonly string[]
  /** Names of secrets that no setting passes on. */
  readonly blocked?: readonly string[]
  /** Default: bash, or sh where bash is not installed. */
  readonly shell?: string
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs?: number
  /** Undefined, also as its result: commands run without a sandbox. Called for each command. */
  sandbox?(): Promise<Sandbox | undefined>
  /** Opens the files with their first use. Takes what makes a path absolute. Without it there are none. */
  openFiles?(resolve: (path: string) => string): Promise<EnvironmentFiles>
}

/** Throws `HermesError` when `cwd` is not absolute. */
export function createLocalEnvironment(options: LocalEnvironmentOptions): Environment {
  const { cwd, graceMs = 500, shell = findShell(), sandbox: getSandbox } = options
  if (!isAbsolute(cwd)) throw new HermesError('terminal/no-folder', `It must be an absolute path, not ${cwd}.`)
  const env = filterEnvironment({
    env: options.env,
    passthrough: options.passthrough ?? [],
    blocked: options.blocked ?? [],
    binDir: options.binDir,
  })
  /** Functions that close the output of each process group that cleanup must kill. */
  const running = new Map<number, () => void>()

  const start = async (command: string, options: SpawnOptions, input: boolean): Promise<ShellProcess> => {
    const { cwd: directory, exposed, variables = {}, outsideSandbox } = options
    const sandbox = outsideSandbox === true ? undefined : await getSandbox?.()
    // The id of an exited group can be reused, so it must not be signalled later.
    for (const pid of running.keys()) if (!signalProcessGroup(pid, 0)) running.delete(pid)
    const shellProcess = startShell(command, {
      ...{ shell, sandbox, input },
      exposed,
      cwd: resolveWorkingDirectory(cwd, directory, sandbox),
      env: { ...env, ...sandboxedPath(sandbox), ...sandbox?.variables, ...variables },
    })
    running.set(shellProcess.pid, () => shellProcess.output.destroy())
    if (shellProcess.isNamespace) shellProcess.output.once('close', () => running.delete(shellProcess.pid))
    return shellProcess
  }

  const sandboxedPath = (sandbox: Sandbox | undefined) =>
    sandbox?.binDirectory === undefined
      ? {}
      : { PATH: `${sandbox.binDirectory}${delimiter}${options.env['PATH'] ?? defaultPath}` }

  return {
    kind: options.kind ?? 'local',
    cwd,
    files: deferFiles(options),

    async execute(command, { timeoutMs, signal, maxOutputBytes, ...options }) {
      const limits = { timeoutMs, signal, maxOutputBytes }
      if (signal.aborted) return { output: '', exitCode: null, timedOut: false, aborted: true }
      const shellProcess = await start(command, options, false)
      const { result, hasSurvivors } = await runToEnd(shellProcess, limits, graceMs)
      if (!hasSurvivors) running.delete(shellProcess.pid)
      return result
    },

    async spawn(command, options) {
      const shellProcess = await start(command, options, true)
      const background = createBackgroundCommand(shellProcess, graceMs, drainMs)
      void background.exited.then(() => {
        if (!signalProcessGroup(shellProcess.pid, 0)) running.delete(shellProcess.pid)
      })
      return background
    },

    async isSandboxed() {
      const sandbox = await getSandbox?.()
      return sandbox !== undefined && sandbox.kind !== 'none'
    },

    async cleanup() {
      const groups = [...running]
      running.clear()
      await Promise.all(groups.map(([pid]) => terminateProcessGroup(pid, graceMs)))
      for (const [, release] of groups) release()
    },
  }
}

function deferFiles({ cwd, env, openFiles }: LocalEnvironmentOptions): EnvironmentFiles {
  const resolvePath = (path: string) => absolutePath(path, cwd, env['HOME'] ?? cwd)
  const open = lazy(() => openFiles?.(resolvePath) ?? Promise.reject(new Error('This environment has no files.')))
  return {
    resolve: resolvePath,
    check: async (...args) => (await open()).check(...args),
    stat: async (...args) => (await open()).stat(...args),
    read: async (...args) => (await open()).read(...args),
    writeAtomic: async (...args) => (await open()).writeAtomic(...args),
    remove: async (...args) => (await open()).remove(...args),
    list: async (...args) => (await open()).list(...args),
    search: async (...args) => (await open()).search(...args),
  }
}

/** Resolves a path that a model wrote: relative to the working directory of the environment; `~` is the user's home. */
function absolutePath(path: string, cwd: string, userHome: string): string {
  if (path === '~') return userHome
  return path.startsWith('~/') ? resolve(userHome, path.slice(2)) : resolve(cwd, path)
}

/** `hasSurvivors`: a process that the command started is still running. */
async function runToEnd(
  { pid, child, output, isNamespace }: ShellProcess,
  limits: Pick<ExecuteOptions, 'timeoutMs' | 'signal' | 'maxOutputBytes'>,
  graceMs: number,
): Promise<{ result: ExecuteResult; hasSurvivors: boolean }> {
  const outputBuffer = createOutputBuffer(limits.maxOutputBytes)
  const keep = (chunk: Buffer) => outputBuffer.add(chunk)
  output.on('data', keep)
  const failure = new Promise<void>((resolve) => {
    const onError = (error: Error) => {
      outputBuffer.add(Buffer.from(`\n[${messageOf(error)}]\n`))
      resolve()
    }
    child.once('error', onError)
    output.once('error', onError)
  })
  const closed = new Promise<void>((resolve) => output.once('close', resolve))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))

  const reason = await raceCompletion(exited, failure, limits)
  let hasSurvivors = false
  if (reason === 'exited') {
    const drained = await withTimeout(closed, drainMs)
    hasSurvivors = !drained.done || (!isNamespace && signalProcessGroup(pid, 0))
    // The pipe stays open and its data is discarded: closing it would kill the remaining processes.
    if (hasSurvivors) detachOutput(output, keep)
  } else {
    const terminated = terminateProcessGroup(pid, graceMs)
    await (isNamespace ? Promise.race([terminated, closed]) : terminated)
    await withTimeout(exited, exitTimeoutMs)
    await withTimeout(closed, drainMs)
    output.destroy()
  }
  const note = hasSurvivors
    ? '\n[a process that this command started is still running; its further output is lost]\n'
    : ''
  return {
    result: {
      output: outputBuffer.text() + note,
      exitCode: child.exitCode,
      timedOut: reason === 'timeout',
      aborted: reason === 'abort',
    },
    hasSurvivors,
  }
}

async function raceCompletion(
  exited: Promise<unknown>,
  failure: Promise<void>,
  { signal, timeoutMs }: Pick<ExecuteOptions, 'signal' | 'timeoutMs'>,
): Promise<'exited' | 'failed' | 'timeout' | 'abort'> {
  const completed = Promise.race([exited.then(() => 'exited' as const), failure.then(() => 'failed' as const)])
  const result = await withTimeout(completed, timeoutMs, signal)
  if (result.done) return result.value
  return signal.aborted ? 'abort' : 'timeout'
}

function detachOutput(output: ShellProcess['output'], keep: (chunk: Buffer) => void): void {
  output.off('data', keep)
  output.resume()
  if (output instanceof Socket) output.unref()
}

/** Linux rejects a single argument of 128 KiB or more, and the shell receives the command as one argument. */
const maxCommandBytes = 120_000

interface ShellProcessOptions {
  readonly shell: string
  readonly cwd: string
  readonly env: Record<string, string>
  readonly input: boolean
  readonly sandbox: Sandbox | undefined
  readonly exposed?: readonly string[] | undefined
}

/** Prefers bash, because models write commands for it. */
function findShell(): string {
  return ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/opt/homebrew/bin/bash'].find(existsSync) ?? '/bin/sh'
}

/** Resolves a directory against that of the environment. Throws `HermesError` when it is hidden or does not exist. */
function resolveWorkingDirectory(base: string, requested: string | undefined, sandbox: Sandbox | undefined): string {
  const directory = requested === undefined ? base : resolve(base, requested)
  const path = sandbox?.toHostPath(directory) ?? directory
  const hidden = sandbox?.hiddenReason(directory)
  if (hidden !== undefined) throw new HermesError('terminal/hidden-folder', hidden)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new HermesError('terminal/no-folder', `It is ${directory}.`)
  return directory
}

/**
 * Starts a command in its own session and process group. stdout and stderr share one pipe, so that their lines keep their
 * order. Throws `HermesError` when the command cannot be started.
 */
function startShell(command: string, options: ShellProcessOptions): ShellProcess {
  if (command.includes('\0')) throw new HermesError('terminal/cannot-start', 'The command contains a NUL character.')
  const bytes = Buffer.byteLength(command)
  if (bytes > maxCommandBytes) {
    const detail = `It has ${bytes} bytes; the limit is ${maxCommandBytes}. Write a script file and run that.`
    throw new HermesError('terminal/cannot-start', detail)
  }
  const { shell, sandbox, cwd, exposed = [] } = options
  const [program = shell, ...args] = sandbox?.wrap([shell, '-c', command], { cwd, exposed, usesProxy: true }) ?? [
    shell,
    '-c',
    command,
  ]
  // The outer shell redirects stderr to stdout and then replaces itself, so that the process id stays the same.
  const child = spawn(shell, ['-c', 'exec "$0" "$@" 2>&1', program, ...args], {
    cwd: sandbox?.toHostPath(cwd) ?? cwd,
    env: { ...options.env, PWD: cwd },
    detached: true,
    stdio: [options.input ? 'pipe' : 'ignore', 'pipe', 'ignore'],
  })
  if (child.pid === undefined || child.stdout === null) {
    child.once('error', () => undefined)
    throw new HermesError('terminal/cannot-start', `The shell ${shell} did not start.`)
  }
  const isNamespace = sandbox?.kind === 'bwrap'
  return { pid: child.pid, output: child.stdout, input: child.stdin ?? undefined, child, isNamespace }
}
