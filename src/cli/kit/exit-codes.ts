/**
 * Reports the failure of a command: its message, a hint, its error code, and a stable exit code.
 */

import { stripControlCharacters } from '../../clients/chat/chat-printer.ts'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { missingPackageAdvice } from '../../packages/missing-package.mjs'
import type { CliContext } from './context.ts'

/** The exit codes other than 0. `hermes --help` lists them. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  /** No gateway is running on this home. */
  noDaemon: 3,
  /** Try again later (sysexits.h, EX_TEMPFAIL): a message is not confirmed yet, or the gateway asks to be started again. */
  temporary: 75,
  /** The configuration must be fixed first, so service managers should not restart the process (sysexits.h, EX_CONFIG). */
  config: 78,
  /** Interrupted by Ctrl-C. */
  interrupted: 130,
} as const

const configErrorPrefixes = [
  'config/',
  'home/',
  'store/newer-schema',
  'store/foreign',
  'store/corrupt',
  'http/port-in-use',
  'http/token-unusable',
]

/**
 * Writes the error to stderr and returns the exit code. Never rejects.
 * @param withoutSecrets takes the secrets of the home out of the text
 */
export async function reportError(
  error: unknown,
  { errors }: Pick<CliContext, 'errors'>,
  withoutSecrets = async (text: string) => text,
): Promise<number> {
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : exitCodes.usage
  errors.write(`hermes: ${await withoutSecrets(describeError(error))}\n`)
  if (!isHermesError(error)) return exitCodes.failed
  if (error.code === 'cli/usage') return exitCodes.usage
  if (error.code === 'cli/no-daemon') return exitCodes.noDaemon
  return configErrorPrefixes.some((prefix) => error.code.startsWith(prefix)) ? exitCodes.config : exitCodes.failed
}

/** The message; for a `HermesError` also a line with the hint and the code. Without control characters. */
export function describeError(error: unknown): string {
  if (isHermesError(error)) return stripControlCharacters(`${messageOf(error)}\n${error.hint} (${error.code})`)
  return stripControlCharacters(missingPackageAdvice(error) ?? messageOf(error))
}

/** Commander prints the message of such an error itself. */
function isCommanderError(error: unknown): error is Error & { exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number'
}
