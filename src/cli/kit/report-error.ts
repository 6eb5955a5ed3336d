/**
 * Reports the failure of a command: its message, a hint, its error code, and a stable exit code.
 */
import { describeError } from '../../lib/describe-error.ts'
import { isHermesError } from '../../lib/errors.ts'
import { exitCodes } from '../../lib/exit-codes.ts'
import type { CliContext } from './context.ts'

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

/** Commander prints the message of such an error itself. */
function isCommanderError(error: unknown): error is Error & { exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number'
}
