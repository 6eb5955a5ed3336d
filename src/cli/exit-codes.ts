/**
 * How a command fails: one clear sentence, what to do next, and an exit code that scripts can rely on.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { stripControlCharacters } from './chat-printer.ts'
import type { CliContext } from './context.ts'

/** 0 is success; these are the others. `hermes --help` lists them. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  /** Nothing runs on this home. */
  noDaemon: 3,
  /** Trying again changes nothing until somebody mends the set-up (sysexits.h, EX_CONFIG): service managers may stop retrying. */
  config: 78,
} as const

const configErrorPrefixes = [
  'config/',
  'home/',
  'store/newer-schema',
  'store/corrupt',
  'http/port-in-use',
  'http/token-unusable',
]

/** Says on stderr what went wrong and returns the exit code. Never throws. */
export function reportError(error: unknown, { errors }: Pick<CliContext, 'errors'>): number {
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : exitCodes.usage
  const hint = isHermesError(error) ? `\n${error.hint}` : ''
  errors.write(`${stripControlCharacters(`hermes: ${messageOf(error)}${hint}`)}\n`)
  if (!isHermesError(error)) return exitCodes.failed
  if (error.code === 'cli/usage') return exitCodes.usage
  if (error.code === 'cli/no-daemon') return exitCodes.noDaemon
  return configErrorPrefixes.some((prefix) => error.code.startsWith(prefix)) ? exitCodes.config : exitCodes.failed
}

/** Commander has printed its own message already. */
function isCommanderError(error: unknown): error is Error & { exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number'
}
