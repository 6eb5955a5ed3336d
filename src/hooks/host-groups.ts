/**
 * Groups hooks that share a host process, and selects the environment variables of that process.
 */
import type { HookManifest } from './manifest.ts'

export interface HostGroupRules {
  /** `hooks.env` of the configuration. */
  readonly env: 'all' | 'declared'
  /** The process environment of the gateway, which overrides `.env`. */
  readonly environment: Readonly<Record<string, string>>
  /** `$HERMES_HOME`. */
  readonly home: string
  /** Whether the hook has crashed its host repeatedly. */
  readonly isIsolated: (id: string) => boolean
}

interface GroupMember {
  readonly id: string
  readonly language: 'node' | 'python'
  readonly manifest: Pick<HookManifest, 'env'>
}

/** Variables that most programs need. None of them is a secret. */
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

/** Hooks with the same key share a process. Hooks that declare variables and isolated hooks have a key of their own. */
export function groupKeyOf(
  { id, language, manifest }: GroupMember,
  { isIsolated }: Pick<HostGroupRules, 'isIsolated'>,
): string {
  return manifest.env !== undefined || isIsolated(id) ? `${language}: ${id}` : language
}

/** The environment of the process of a hook, which is the same for all hooks of its group. */
export function hookEnvironment({ manifest }: GroupMember, rules: HostGroupRules): Readonly<Record<string, string>> {
  const { environment, home } = rules
  const gatewayVariables = { HERMES_HOME: home }
  const names = manifest.env ?? (rules.env === 'declared' ? [] : undefined)
  if (names === undefined) return { ...environment, ...gatewayVariables }
  return { ...baseEnvironment(environment, names), ...gatewayVariables }
}

/** The basic variables and those with the given names. */
export function baseEnvironment(
  environment: Readonly<Record<string, string>>,
  names: readonly string[] = [],
): Readonly<Record<string, string>> {
  const entries = [...baseVariables, ...names].flatMap((name): [string, string][] => {
    const value = environment[name]
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(entries)
}
