/**
 * How a command fails: one clear sentence, what to do next, and an exit code that scripts can rely on.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import type { CliContext } from './context.ts'

/** Trying again changes nothing until somebody mends the set-up (sysexits.h, EX_CONFIG): service managers may stop retrying. */
const configExit = 78
const usageExit = 2
const needsMending = ['config/', 'home/', 'store/newer-schema', 'store/corrupt', 'http/port-in-use', 'http/token-unusable']

/** Says on stderr what went wrong and returns the exit code. Never throws. */
export function exitCodeOf(error: unknown, { errors }: CliContext): number {
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : usageExit
  const hint = error instanceof HermesError ? `\n${error.hint}` : ''
  errors.write(`hermes: ${messageOf(error)}${hint}\n`)
  if (!(error instanceof HermesError)) return 1
  if (error.code === 'cli/usage') return usageExit
  return needsMending.some((prefix) => error.code.startsWith(prefix)) ? configExit : 1
}

/** Commander has printed its own message already. */
function isCommanderError(error: unknown): error is Error & { exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number'
}
