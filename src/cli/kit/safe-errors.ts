/**
 * Takes the secrets of a home out of errors that a command prints, and prints those that no code has caught. Node itself would
 * print them as they are. Loaded with the first error.
 */

import { readEnvironment } from '../../config/environment.ts'
import { interpolateVariables } from '../../config/interpolate-variables.ts'
import { findEnvironmentSecrets, findSecrets } from '../../config/secrets.ts'
import { messageOf, stackOf } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { createRedactor } from '../../lib/redact.ts'
import { stripControlCharacters } from '../../lib/visible-text.ts'
import { parseYaml } from '../../lib/yaml.ts'
import type { CliContext } from './context.ts'

type ErrorContext = Pick<CliContext, 'home' | 'environment' | 'platformDirectories' | 'errors'>

/** Returns the text without the known secrets of the home. Never rejects. */
export async function withoutSecrets(text: string, context: ErrorContext): Promise<string> {
  const candidates = possibleSecrets(context)
  const strict = createRedactor({ secrets: () => candidates, knownOnly: true })(text)
  if (strict === text) return text
  try {
    // Which values everybody may know takes time to find out.
    const { readSettings } = await import('./settings.ts')
    const { secrets } = await readSettings(context)
    const gatewayToken = readToken(context)
    return createRedactor({ secrets: () => [...secrets.all(), ...gatewayToken], knownOnly: true })(text)
  } catch {
    // The home cannot be used, which the error itself may say.
    return strict
  }
}

/** Prints an error that no code has caught, with its stack. Never rejects. */
export async function printUncaught(error: unknown, context: ErrorContext): Promise<void> {
  const text = stackOf(error) || messageOf(error)
  // Text that only looks like a secret is removed, too: the error may have come from anywhere.
  const looksSecret = createRedactor({ secrets: () => [] })
  const shown = looksSecret(await withoutSecrets(text, context))
  const lines = shown.split('\n').map(stripControlCharacters)
  context.errors.write(`hermes: an error was not handled, and the command has ended: ${lines.join('\n')}\n`)
}

/** The secrets of the files and variables of the home, and values that everybody may know. Unreadable files have none. */
function possibleSecrets(context: ErrorContext): readonly string[] {
  const { home, environment } = context
  try {
    const variables = readEnvironment(home.envFile, environment)
    const secrets = findEnvironmentSecrets({ ...variables, isPublic: () => false })
    const text = readTextIfExists(home.configFile) ?? ''
    const { tree } = interpolateVariables(parseYaml(text, home.configFile).value ?? {}, variables.values)
    return [...secrets, ...findSecrets(tree), ...readToken(context)]
  } catch {
    return readToken(context)
  }
}

function readToken({ home }: ErrorContext): readonly string[] {
  try {
    return [readTextIfExists(home.tokenFile)?.trim() ?? ''].filter((token) => token !== '')
  } catch {
    return []
  }
}
