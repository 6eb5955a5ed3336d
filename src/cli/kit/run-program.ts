/**
 * Runs a program of the machine for a command: without a shell, and with what it printed as the result.
 */
import { spawn } from 'node:child_process'
import { isAbsolute } from 'node:path'
import type { ProcessEnvironment } from '../../config/environment.ts'
import { HermesError, systemCode } from '../../lib/errors.ts'
import { findProgram } from '../../lib/find-program.ts'

export interface ProgramResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface ProgramOptions {
  readonly environment: ProcessEnvironment
  readonly cwd?: string | undefined
  /** Its output goes to this terminal as it is written, and is not in the result. */
  readonly inherit?: boolean
}

/** Runs a program of the PATH, or of an absolute path, until it exits. A program that a signal ended has the code 1. Rejects `cli/failed` if it is missing. */
export async function runProgram(
  name: string,
  args: readonly string[],
  { environment, cwd, inherit = false }: ProgramOptions,
): Promise<ProgramResult> {
  const program = isAbsolute(name) ? name : findProgram(name, environment['PATH'] ?? '')
  if (program === undefined) throw new HermesError('cli/failed', `There is no program ${name} on the PATH.`)
  const child = spawn(program, args, { cwd, env: environment, stdio: inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text
    })
  return await new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new HermesError('cli/failed', `${program}: ${systemCode(error) ?? error.message}`, { cause: error })),
    )
    child.once('close', (code) => resolve({ code: code ?? 1, ...output }))
  })
}
