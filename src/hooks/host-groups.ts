/**
 * Which hooks share a process, and what that process sees of the environment.
 */
export interface HostGroupRules {
  /** `hooks.env` of the configuration. */
  readonly env: 'all' | 'declared'
  /** Everything the gateway sees: its process environment over `.env`. */
  readonly environment: Readonly<Record<string, string>>
  /** The home of the gateway. */
  readonly home: string
  /** Hooks that have taken their process along too often. */
  readonly isIsolated: (id: string) => boolean
}

interface GroupMember {
  readonly id: string
  readonly language: 'node' | 'python'
  readonly manifest: { readonly env?: readonly string[] }
}

/** What a program needs in order to run at all; none of it is a secret. */
const baseVariables = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

/** Hooks of one key share a process: those of one language, except the ones that name variables and the loners. */
export function groupKeyOf(
  { id, language, manifest }: GroupMember,
  { isIsolated }: Pick<HostGroupRules, 'isIsolated'>,
): string {
  return manifest.env !== undefined || isIsolated(id) ? `${language}: ${id}` : language
}

/** The variables of a process for this hook, and for all that share its group. */
export function hookEnvironment({ manifest }: GroupMember, rules: HostGroupRules): Readonly<Record<string, string>> {
  const { environment, home } = rules
  const gatewayVariables = { HERMES_HOME: home }
  const names = manifest.env ?? (rules.env === 'declared' ? [] : undefined)
  if (names === undefined) return { ...environment, ...gatewayVariables }
  return { ...baseEnvironment(environment, names), ...gatewayVariables }
}

/** What a program needs, and the variables of these names. */
export function baseEnvironment(
  environment: Readonly<Record<string, string>>,
  names: readonly string[] = [],
): Readonly<Record<string, string>> {
  const wanted = [...baseVariables, ...names].flatMap((name): [string, string][] => {
    const value = environment[name]
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(wanted)
}
