/**
 * Which hooks share a process, and what that process sees of the environment.
 */
export interface GroupRules {
  /** `hooks.env` of the configuration. */
  readonly env: 'all' | 'declared'
  /** Everything the gateway sees: its process environment over `.env`. */
  readonly environment: Readonly<Record<string, string>>
  /** The home of the gateway. */
  readonly home: string
  /** Hooks that have taken their process along too often. */
  readonly isLoner: (id: string) => boolean
}

interface Member {
  readonly id: string
  readonly language: 'node' | 'python'
  readonly manifest: { readonly env?: readonly string[] }
}

/** What a program needs in order to run at all; none of it is a secret. */
const basics = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/** Hooks of one key share a process: those of one language, except the ones that name variables and the loners. */
export function groupKeyOf({ id, language, manifest }: Member, { isLoner }: Pick<GroupRules, 'isLoner'>): string {
  return manifest.env !== undefined || isLoner(id) ? `${language}: ${id}` : language
}

/** The variables of a process for this hook, and for all that share its group. */
export function environmentOf({ manifest }: Member, rules: GroupRules): Readonly<Record<string, string>> {
  const { environment, home } = rules
  const own = { HERMES_HOME: home }
  const names = manifest.env ?? (rules.env === 'declared' ? [] : undefined)
  if (names === undefined) return { ...environment, ...own }
  return { ...basicsOf(environment, names), ...own }
}

/** What a program needs, and the variables of these names. */
export function basicsOf(
  environment: Readonly<Record<string, string>>,
  names: readonly string[] = [],
): Readonly<Record<string, string>> {
  const wanted = [...basics, ...names].flatMap((name): [string, string][] => {
    const value = environment[name]
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(wanted)
}
