/**
 * The variables a command may see. The gateway's own environment holds keys and tokens, so everything is left out
 * that is not known to be harmless or named by the user.
 */
import { delimiter } from 'node:path'

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

const allowedNames = new Set(['PATH', 'HOME', 'USER', 'LANG', 'TERM', 'TZ', 'TMPDIR', 'SHELL', 'PWD', 'HERMES_HOME'])
const isAllowed = (name: string) => allowedNames.has(name) || name.startsWith('LC_')

/** The gateway's own credentials: no configuration hands them to a command. */
const gatewayCredential = /^(?:HERMES|OPENAI|ANTHROPIC)_\w*(?:KEY|TOKEN|SECRET|PASSWORD)$/

export interface FilterEnvironmentOptions {
  readonly env: EnvironmentVariables
  /** Names the user lets through (`terminal.env_passthrough`). */
  readonly passthrough: readonly string[]
  /** Names that never pass, for example the secrets the configured platforms read. */
  readonly blocked: readonly string[]
  /** Put in front of PATH. */
  readonly binDir: string | undefined
}

/** Picks the variables; the result is a fresh object. */
export function filterEnvironment(options: FilterEnvironmentOptions): Record<string, string> {
  const { env, binDir } = options
  const chosen = new Set(options.passthrough)
  const withheld = new Set(options.blocked)
  const picked: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || withheld.has(name) || gatewayCredential.test(name)) continue
    if (isAllowed(name) || chosen.has(name)) picked[name] = value
  }
  const path = env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'
  picked['PATH'] = binDir === undefined ? path : `${binDir}${delimiter}${path}`
  return picked
}
