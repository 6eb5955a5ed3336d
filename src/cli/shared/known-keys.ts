/**
 * The keys of model providers that this home knows: in auth.json, in the environment and in the configuration.
 */
import { dirname } from 'node:path'
import { catalogue, findProvider } from '../../agent/models/catalogue.ts'
import { type AuthFile, unusable } from '../../agent/models/credentials/auth-file.ts'
import { type Credential, isValid } from '../../agent/models/credentials/credential.ts'
import { createSharedAuthFile } from '../../agent/models/credentials/shared-auth-file.ts'
import { createCredentialState } from '../../agent/models/credentials/state.ts'
import {
  type ProviderSelection,
  resolveProvider,
  selectionOfName,
  serversOf,
} from '../../agent/models/resolve-provider.ts'
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { ensureDirectory } from '../../lib/files.ts'
import { silentLog } from '../../lib/log.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'
import type { Settings } from '../kit/settings.ts'

export interface KnownKeys {
  /** The name of a provider, of whose names this is one. Throws `cli/not-found`. */
  nameOf(provider: string): string
  list(provider: string): readonly Credential[]
  /** Whether the provider is a vendor, and not a server of one's own that may need no key. */
  needsKey(provider: string): boolean
  /** Providers with a key, the configured one first. */
  names(): readonly string[]
  /** By id, label or number in the list. Throws `cli/not-found`. */
  find(provider: string, key: string): Credential
  /** Changes auth.json under its lock. Rejects `auth/unusable`. */
  update(change: (file: AuthFile) => AuthFile): Promise<void>
}

/** Throws `auth/unusable`, unless `needsFile` is false: then the other keys are known. */
export function openKeys(settings: Settings, path: string, { needsFile = true } = {}): KnownKeys {
  const file = createSharedAuthFile(path, silentLog, (run) => withLockOf(path, run))
  const read = needsFile ? file.read() : readIfUsable(file.read)
  const state = createCredentialState(
    file,
    (name) => resolveProvider(selectionOf(settings, name))?.keys ?? [],
    silentLog,
  )

  function nameOf(provider: string): string {
    const known = findProvider(provider)?.name
    const names = [...Object.keys(serversOf(settings.config.current())), ...read.providers.keys()]
    if (known !== undefined || names.includes(provider)) return known ?? provider
    const closest = findClosestMatch(provider, [...Object.keys(catalogue), ...names])
    const question = closest === null ? '' : ` Did you mean ${JSON.stringify(closest)}?`
    throw new HermesError('cli/not-found', `No provider is named ${JSON.stringify(provider)}.${question}`)
  }

  return {
    nameOf,
    list: state.list,
    needsKey: (provider) => resolveProvider(selectionOf(settings, provider))?.isOfficial ?? true,
    update: file.update,
    names(): readonly string[] {
      const current = resolveProvider(selectionOf(settings, undefined))?.name
      const all = new Set([
        ...(current === undefined ? [] : [current]),
        ...[...read.providers.keys()].map((name) => findProvider(name)?.name ?? name),
        ...Object.keys(catalogue),
      ])
      return [...all].filter((name) => (name === current || !sharesKey(name)) && state.list(name).length > 0)
    },
    find(name: string, key: string): Credential {
      const keys = state.list(name)
      const credential =
        keys.find(({ id }) => id === key) ?? keys.find(({ label }) => label === key) ?? keys[Number(key) - 1]
      if (credential !== undefined) return credential
      throw new HermesError('cli/not-found', `${name} has no key ${JSON.stringify(key)}.`, {
        hint: `\`hermes auth list ${name}\` shows the keys.`,
      })
    },
  }
}

/** In a home that may not exist yet. Rejects `auth/unusable`, `store/locked`, and with what `run` throws. */
async function withLockOf<T>(path: string, run: () => T): Promise<T> {
  try {
    ensureDirectory(dirname(path))
    return await withFileLock(`${path}.lock`, async () => run())
  } catch (error) {
    const isKnown = isHermesError(error) && !['store/failed', 'store/full', 'store/unavailable'].includes(error.code)
    throw isKnown ? error : unusable(path, messageOf(error), error)
  }
}

/** The first key in auth.json, where the configuration and the environment have none. `label` names it. */
export function withStoredKey<Selection extends ProviderSelection>(
  selection: Selection,
  known: Pick<KnownKeys, 'list'>,
): Selection & { readonly label?: string } {
  const choice = resolveProvider(selection)
  if (choice === undefined || choice.keys.length > 0) return selection
  const first = known.list(choice.name).find(isValid)
  return first === undefined ? selection : { ...selection, apiKey: first.secret, label: `${first.label} in auth.json` }
}

function readIfUsable(read: () => AuthFile): Pick<AuthFile, 'providers'> {
  try {
    return read()
  } catch (error) {
    if (isHermesError(error, 'auth/unusable')) return { providers: new Map() }
    throw error
  }
}

/** The settings of the configured provider, or of another one. */
export function selectionOf({ config }: Settings, name: string | undefined): ProviderSelection {
  const { provider, model, base_url: baseUrl, api_key: apiKey, api_mode: apiMode } = config.current()
  const providers = serversOf(config.current())
  const variables = config.environment().values
  const main = { provider, providers, model, baseUrl, apiKey, apiMode, variables }
  return name === undefined ? main : selectionOfName(main, name)
}

function sharesKey(name: string): boolean {
  return findProvider(name)?.entry.sharesKey === true
}
