/**
 * Which variables of the gateway a command may have, and where they are from.
 */
import { delimiter } from 'node:path'
import type { Environment } from '../../config/environment.ts'
import { catalogue } from '../models/catalogue.ts'

/** Credentials of the gateway itself, of model providers, and of memory providers. */
const credentialPattern =
  /^(?:(?:HERMES|GATEWAY)_\w*(?:KEY|TOKEN|SECRET|PASSWORD)$|(?:OPENAI|ANTHROPIC|OPENROUTER|NOUS|DEEPSEEK|GEMINI|GOOGLE_AI|AZURE_OPENAI|XAI|ZAI|GLM|KIMI|MOONSHOT|MINIMAX|MISTRAL|GROQ|MEM0|HONCHO)_)/

const providerKeys: ReadonlySet<string> = new Set(Object.values(catalogue).flatMap(({ keyVariables }) => keyVariables))

/** Whether no setting and no skill passes the variable to a command. */
export function isGatewayCredential(name: string): boolean {
  return credentialPattern.test(name) || providerKeys.has(name)
}

/** The process variables, and those of `.env` that the operator names: it is otherwise for the configuration only. */
export function withNamedVariables(
  { process, file }: Pick<Environment, 'process' | 'file'>,
  names: readonly string[],
): Environment['process'] {
  const named = names.flatMap((name) => (Object.hasOwn(file, name) ? [[name, file[name]] as const] : []))
  return { ...Object.fromEntries(named), ...process }
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

export const defaultPath = '/usr/local/bin:/usr/bin:/bin'

const allowedNames = new Set(['PATH', 'HOME', 'USER', 'LANG', 'TERM', 'TZ', 'TMPDIR', 'SHELL', 'PWD', 'HERMES_HOME'])

const isAllowed = (name: string) => allowedNames.has(name) || name.startsWith('LC_')

interface FilterEnvironmentOptions {
  readonly env: EnvironmentVariables
  /** Additional names (`terminal.env_passthrough`). */
  readonly passthrough: readonly string[]
  /** Names that are never passed on, such as the secrets of the configured platforms. */
  readonly blocked: readonly string[]
  /** Prepended to PATH. */
  readonly binDir?: string | undefined
}

/**
 * Selects the variables that a command receives. The environment of the gateway contains keys and tokens, so only names
 * that are known to be harmless, or that the user has named, are passed on.
 */
export function filterEnvironment(options: FilterEnvironmentOptions): Record<string, string> {
  const { env, binDir } = options
  const passthrough = new Set(options.passthrough)
  const blocked = new Set(options.blocked)
  const selected: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || blocked.has(name) || isGatewayCredential(name)) continue
    if (isAllowed(name) || passthrough.has(name)) selected[name] = value
  }
  const path = env['PATH'] ?? defaultPath
  selected['PATH'] = binDir === undefined ? path : `${binDir}${delimiter}${path}`
  return selected
}
