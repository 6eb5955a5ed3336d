/**
 * The kinds of environments that plugins register, for `terminal.backend`.
 */
import type { EnvironmentKind } from '../agent/environments/kind.ts'
import { builtInBackends } from '../agent/environments/kinds.ts'
import { HermesError } from '../lib/errors.ts'
import type { Registration } from '../middleware/contract.ts'

export interface PluginEnvironments {
  /** Throws `plugins/environment-taken` or `plugins/invalid-registration`. */
  register(owner: string, name: string, kind: EnvironmentKind): Registration
  find(name: string): EnvironmentKind | undefined
}

/** @param onChange called after a kind was added or removed */
export function createPluginEnvironments(onChange: () => void): PluginEnvironments {
  const kinds = new Map<string, { readonly owner: string; readonly kind: EnvironmentKind }>()
  return {
    register(owner, name, kind) {
      if (!/^[a-z][a-z0-9_-]{0,63}$/.test(name)) {
        const quotedName = JSON.stringify(name)
        throw new HermesError(
          'plugins/invalid-registration',
          `expected the name of an environment, found ${quotedName} (${owner})`,
        )
      }
      if (builtInBackends.includes(name) || (kinds.get(name) ?? { owner }).owner !== owner)
        throw new HermesError('plugins/environment-taken', `(${name}, requested by ${owner})`)
      const entry = { owner, kind }
      kinds.set(name, entry)
      onChange()
      return {
        name,
        remove() {
          // A reloaded plugin has registered its new one before the old one is removed.
          if (kinds.get(name) !== entry) return false
          kinds.delete(name)
          onChange()
          return true
        },
      }
    },
    find: (name) => kinds.get(name)?.kind,
  }
}
