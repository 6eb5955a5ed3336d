/**
 * The keys of the providers (contract agent.md S6): gives the model of a turn a key from `auth.json`, the environment or the
 * configuration, and another one when the provider refuses it. Loaded when there is an `auth.json`.
 */

import type { ModelConfig } from '../../agent/models/config.ts'
import { createProvider, type ProviderSettings } from '../../agent/models/create-provider.ts'
import type { AuthFile } from '../../agent/models/credentials/auth-file.ts'
import { type Credential, isValid } from '../../agent/models/credentials/credential.ts'
import { createLeasedProvider } from '../../agent/models/credentials/leased-provider.ts'
import { type CredentialLease, createCredentialPool } from '../../agent/models/credentials/pool.ts'
import { createSharedAuthFile } from '../../agent/models/credentials/shared-auth-file.ts'
import { createCredentialState, type ReferencedKey } from '../../agent/models/credentials/state.ts'
import type { ProviderMonitor } from '../../agent/models/model-call-monitor.ts'
import type { Provider } from '../../agent/models/provider.ts'
import { findServer, resolveProvider, selectionOfName } from '../../agent/models/resolve-provider.ts'
import type { Logger } from '../../lib/log.ts'
import type { SecretRegistry } from '../../lib/redact.ts'

export interface ModelKeysDeps {
  /** The folder of pictures. */
  readonly picturesFolder: string
  /** The path of `auth.json`. */
  readonly path: string
  readonly settings: () => Pick<ModelConfig, 'credential_pool_strategies'>
  /** The settings of the configured model. */
  selection(): ProviderSettings
  readonly secrets: Pick<SecretRegistry, 'set'>
  readonly modelCalls: ProviderMonitor
  /** ms */
  readonly clock: () => number
  readonly random: () => number
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
  readonly log: Logger
}

export interface ModelKeys {
  /** The settings with a stored key where the configuration and the environment have none. */
  withKey(settings: ProviderSettings): ProviderSettings
  /** The provider for one turn. It chooses its key with the first call. */
  forTurn(provider: Provider, settings: ProviderSettings): Provider
  /** Whether `lease` would find a key. */
  hasKey(selection: ProviderSettings): boolean
  /**
   * For a call that is none of a model; undefined when the provider has no key, and for another address than the one to which its keys
   * belong.
   */
  lease(selection: ProviderSettings): CredentialLease | undefined
  /** Writes what is not written yet. Never rejects. */
  close(): Promise<void>
}

export function createModelKeys(deps: ModelKeysDeps): ModelKeys {
  const { path, settings, secrets, clock, random, failpoint, log } = deps
  const file = createSharedAuthFile(path, log)
  const referenced = new Map<string, readonly ReferencedKey[]>()
  const providers = new Map<string, Provider>()
  let known: AuthFile | undefined
  function read(): AuthFile {
    const content = file.read()
    if (content !== known) secrets.set('auth.json', secretsIn(content))
    known = content
    return content
  }
  const redacted = { read, update: file.update }
  const state = createCredentialState(redacted, (name) => referenced.get(name) ?? [], log, failpoint)
  const pool = createCredentialPool({
    state,
    strategyOf: (name) => settings().credential_pool_strategies[name] ?? 'fill_first',
    clock,
    random,
    failpoint,
    log,
  })

  /** The same for each use of the provider. The pool compares the array, so it stays the same while the keys do. */
  function refreshReferenced(name: string): void {
    const keys = resolveProvider(selectionOfName(deps.selection(), name))?.keys ?? []
    const known = referenced.get(name)
    const same = known?.length === keys.length && keys.every(({ secret }, index) => secret === known[index]?.secret)
    if (!same) referenced.set(name, keys)
  }

  /** The name of the provider whose keys may be sent to the address of the selection. */
  function poolFor(selection: ProviderSettings): string | undefined {
    const choice = resolveProvider(selection)
    if (choice === undefined || selection.hasOwnKey === true) return undefined
    const provider = resolveProvider(selectionOfName(deps.selection(), choice.name))
    if (provider !== undefined && provider.baseUrl !== choice.baseUrl) return undefined
    refreshReferenced(choice.name)
    return choice.name
  }

  /** Cached, because a client keeps its connections open. */
  function providerWith({ secret, baseUrl }: Credential, selection: ProviderSettings, name: string): Provider {
    const withKey = { ...selection, provider: name, apiKey: secret, baseUrl: baseUrl || selection.baseUrl }
    const { variables: _variables, providers: _servers, ...scalars } = withKey
    const id = JSON.stringify([scalars, findServer(selection.providers, name)?.server])
    const known = providers.get(id)
    if (known !== undefined) return known
    const created = createProvider(withKey, { monitor: deps.modelCalls, picturesFolder: deps.picturesFolder })
    if ('problem' in created) throw created.problem
    providers.set(id, created.provider)
    return created.provider
  }

  return {
    withKey(selection) {
      const name = poolFor(selection)
      if (name === undefined || (resolveProvider(selection)?.keys.length ?? 0) > 0) return selection
      const first = state.list(name).find(isValid)
      return first === undefined ? selection : { ...selection, apiKey: first.secret }
    },
    forTurn(provider, selection) {
      const name = poolFor(selection)
      if (name === undefined) return provider
      return createLeasedProvider(provider, {
        lease: () => pool.lease(name),
        providerWith: (credential) => providerWith(credential, selection, name),
        restsUntil: () => pool.restsUntil(name),
      })
    },
    hasKey(selection) {
      const name = poolFor(selection)
      return name !== undefined && state.list(name).some(isValid)
    },
    lease(selection) {
      const name = poolFor(selection)
      return name === undefined ? undefined : pool.lease(name)
    },
    close: () => state.flush(),
  }
}

function secretsIn({ providers }: AuthFile): string[] {
  return [...providers.values()]
    .flat()
    .flatMap(({ credential: { secret = '' } = {} }) => (secret === '' ? [] : [secret]))
}
