/**
 * Says why a child process could not be started. The system reports a missing working directory, a missing program and a missing
 * interpreter of a script by the same code.
 */
import { existsSync, statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { messageOf, systemCode } from './errors.ts'

export interface SpawnRequest {
  /** A path, or a name that was looked up in PATH. */
  readonly program: string
  /** Absolute. */
  readonly cwd: string
  /** The kind of the sandbox whose program it is. */
  readonly sandbox?: string | undefined
}

/** An error with a clause without a period, such as `there is no program rg`. The error of the system is its cause. Never throws. */
export function spawnFailure(error: unknown, request: SpawnRequest): Error {
  return new Error(describe(error, request), { cause: error })
}

function describe(error: unknown, { program, cwd, sandbox }: SpawnRequest): string {
  const code = systemCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') {
    const directory = statSync(cwd, { throwIfNoEntry: false })
    if (directory === undefined) return `the working directory ${cwd} does not exist`
    if (!directory.isDirectory()) return `the working directory ${cwd} is not a directory`
  }
  if (sandbox !== undefined) return `the sandbox (${sandbox}) cannot be started: ${describe(error, { program, cwd })}`
  const isPath = program.includes('/')
  // For a name, also where a directory of PATH cannot be read, whatever it contains.
  if (code === 'EACCES')
    return isPath
      ? `the program ${program} cannot be run: permission denied`
      : `there is no program ${program} that may be run`
  if (code !== 'ENOENT') return messageOf(error)
  return isPath && existsSync(isAbsolute(program) ? program : resolve(cwd, program))
    ? `the interpreter that the program ${program} names does not exist`
    : `there is no program ${program}`
}
