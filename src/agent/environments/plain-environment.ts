/**
 * The variables a command may see. The gateway's own environment holds keys and tokens, so everything is left out
 * that is not known to be harmless or named by the user.
 */
import { delimiter } from 'node:path'

export type Variables = Readonly<Record<string, string | undefined>>

const plainNames = new Set(['PATH', 'HOME', 'USER', 'LANG', 'TERM', 'TZ', 'TMPDIR', 'SHELL', 'PWD', 'HERMES_HOME'])
const isPlain = (name: string) => plainNames.has(name) || name.startsWith('LC_')

/** The gateway's own credentials: no configuration hands them to a command. */
const ownCredential = /^(?:HERMES|OPENAI|ANTHROPIC)_\w*(?:KEY|TOKEN|SECRET|PASSWORD)$/

export interface PlainEnvironmentOptions {
  readonly env: Variables
  /** Names the user lets through (`terminal.env_passthrough`). */
  readonly passthrough: readonly string[]
  /** Names that never pass, for example the secrets the configured platforms read. */
  readonly withheld: readonly string[]
  /** Put in front of PATH. */
  readonly binDir: string | undefined
}

/** Picks the variables; the result is a fresh object. */
export function plainEnvironment(options: PlainEnvironmentOptions): Record<string, string> {
  const { env, binDir } = options
  const chosen = new Set(options.passthrough)
  const withheld = new Set(options.withheld)
  const picked: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || withheld.has(name) || ownCredential.test(name)) continue
    if (isPlain(name) || chosen.has(name)) picked[name] = value
  }
  const path = env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'
  picked['PATH'] = binDir === undefined ? path : `${binDir}${delimiter}${path}`
  return picked
}
