/**
 * Starts a command in a shell, in its own session and process group, with stdout and stderr in one pipe, so that the
 * order in which the lines were written is the order in which they are read.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { HermesError } from '../../lib/errors.ts'

/** Linux refuses a single argument of 128 KiB or more; the shell gets the command as one. */
const maxCommandBytes = 120_000

export interface ShellProcess {
  readonly pid: number
  readonly output: Readable
  /** Undefined when stdin was not asked for; the command then reads an empty one. */
  readonly input: Writable | undefined
  readonly child: ChildProcess
}

export interface ShellProcessOptions {
  readonly shell: string
  readonly cwd: string
  readonly env: Record<string, string>
  readonly input: boolean
}

/** bash where there is one: it is what models write for; sh elsewhere. */
export function findShell(): string {
  return ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/opt/homebrew/bin/bash'].find(existsSync) ?? '/bin/sh'
}

/** Resolves a folder against the environment's own. Throws `HermesError` when it is not a folder. */
export function resolveWorkingDirectory(base: string, wanted: string | undefined): string {
  const folder = wanted === undefined ? base : isAbsolute(wanted) ? wanted : resolve(base, wanted)
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found?.isDirectory() !== true) throw new HermesError('terminal/no-folder', `It is ${folder}.`)
  return folder
}

/** Throws `HermesError` when the command cannot be started at all. */
export function startShell(command: string, options: ShellProcessOptions): ShellProcess {
  if (command.includes('\0')) throw new HermesError('terminal/cannot-start', 'The command holds a NUL character.')
  const bytes = Buffer.byteLength(command)
  if (bytes > maxCommandBytes) {
    const detail = `It has ${bytes} bytes, ${maxCommandBytes} are possible. Write a script file and run that.`
    throw new HermesError('terminal/cannot-start', detail)
  }
  // The outer shell only joins stderr to stdout and becomes the inner one, which keeps its process id.
  const child = spawn(options.shell, ['-c', 'exec "$0" -c "$1" 2>&1', options.shell, command], {
    cwd: options.cwd,
    env: { ...options.env, PWD: options.cwd },
    detached: true,
    stdio: [options.input ? 'pipe' : 'ignore', 'pipe', 'ignore'],
  })
  if (child.pid === undefined || child.stdout === null) {
    child.once('error', () => undefined)
    throw new HermesError('terminal/cannot-start', `The shell ${options.shell} did not start.`)
  }
  return { pid: child.pid, output: child.stdout, input: child.stdin ?? undefined, child }
}
