/**
 * Determines the configured provider: its API, its address and the keys that may be sent to it. Separate from the providers, so
 * that the daemon can report the name without loading them.
 */

import type { JsonObject } from '../../lib/json.ts'
import { type CatalogueName, catalogue, findProvider, type ProviderEntry, type ProviderQuirks } from './catalogue.ts'
import type { ApiMode } from './provider.ts'

export interface ProviderSelection {
  /**
   * A name of the catalogue, of `providers`, `demo` or `none`. When omitted, the configured keys decide; `auto` means the same.
   */
  readonly provider?: string | undefined
  readonly model: string
  /** '' for the vendor's own server. */
  readonly baseUrl: string
  /** The key of the selected provider; takes precedence over the variables of the catalogue. */
  readonly apiKey: string
  /** The API that the server speaks, if it is another one than that of the provider. */
  readonly apiMode?: ApiMode | undefined
  /** The environment. */
  readonly variables: Readonly<Record<string, string>>
  /** Servers that the configuration names (`serversOf`). */
  readonly providers?: Readonly<Record<string, NamedServer>>
}

/**
 * An entry of `providers` or `custom_providers` in the configuration. What it leaves out is that of the catalogue's entry of the
 * same name.
 */
export interface NamedServer {
  readonly base_url?: string | undefined
  readonly api_key?: string | undefined
  /** The environment variable that holds the key. */
  readonly key_env?: string | undefined
  readonly api_mode?: ApiMode | undefined
  /** Where the provider is named without a model. */
  readonly model?: string | undefined
  /** By name. */
  readonly models?:
    | Readonly<
        Record<
          string,
          {
            readonly context_length?: number | undefined
            readonly supports_vision?: boolean | undefined
            readonly timeout_seconds?: number | undefined
          }
        >
      >
    | undefined
  readonly extra_headers?: Readonly<Record<string, string>> | undefined
  readonly extra_body?: JsonObject | undefined
  readonly session_affinity_header?: string | undefined
  readonly request_timeout_seconds?: number | undefined
  /** Tokens. */
  readonly context_length?: number | undefined
  /** Whether its models read pictures. */
  readonly supports_vision?: boolean | undefined
}

/** The servers of both forms of the configuration. An entry of the list is `custom:<name>`; the first one of a name counts. */
export function serversOf({
  providers,
  custom_providers: list,
}: {
  readonly providers: Readonly<Record<string, NamedServer>>
  readonly custom_providers: readonly (NamedServer & { readonly name: string })[]
}): Readonly<Record<string, NamedServer>> {
  if (list.length === 0) return providers
  const custom = list.map(({ name, ...server }) => [`custom:${serverSlug(name)}`, server] as const).reverse()
  return { ...Object.fromEntries(custom), ...providers }
}

/** `My Server` is `my-server` (contract §4.5). */
function serverSlug(name: string): string {
  return name.trim().toLowerCase().replace(/\s+/g, '-')
}

/** Both `lab` and `custom:lab` name the entry `lab` of `providers` and of `custom_providers`. */
export function findServer(
  providers: ProviderSelection['providers'] = {},
  name: string,
): { readonly name: string; readonly server: NamedServer } | undefined {
  const slug = serverSlug(name.replace(/^custom:/, ''))
  const entryName = [name, `custom:${slug}`, slug].find((candidate) => Object.hasOwn(providers, candidate))
  const server = entryName === undefined ? undefined : providers[entryName]
  return entryName === undefined || server === undefined ? undefined : { name: entryName, server }
}

export interface ProviderChoice {
  /** `openai`, a name of the configuration, `demo`, `none`. */
  readonly name: string
  readonly apiMode: ApiMode
  /** Without a trailing slash; '' when none is known. */
  readonly baseUrl: string
  /** The vendor's own server, which always needs a key. */
  readonly isOfficial: boolean
  /** The keys that may be sent to this address, in the order of their precedence. */
  readonly keys: readonly ProviderKey[]
  /** Where a person puts the key: `OPENAI_API_KEY`. */
  readonly keyVariable: string
  readonly quirks: ProviderQuirks
  /** The entry of `providers` whose address it is. What it adds to requests goes to no other address. */
  readonly server?: NamedServer | undefined
}

export interface ProviderKey {
  readonly source: `env:${string}` | `config:${string}`
  readonly secret: string
}

/** Undefined for an unknown name. */
export function resolveProvider(selection: ProviderSelection): ProviderChoice | undefined {
  const name = selectedName(selection)
  if (name === 'demo' || name === 'none') return withoutServer(name)
  const known = findProvider(name)
  const configured = findServer(selection.providers, known?.name ?? name) ?? findServer(selection.providers, name)
  if (configured === undefined && known === undefined) return undefined
  return toChoice(known?.name ?? configured?.name ?? name, known?.entry, configured?.server, selection)
}

/** The selection of a provider by its name: the flat keys of the configuration belong to the configured provider. */
export function selectionOfName(main: ProviderSelection, name: string): ProviderSelection {
  if (resolveProvider(main)?.name === name) return main
  const { apiMode: _mode, ...rest } = main
  return { ...rest, provider: name, baseUrl: '', apiKey: '' }
}

/** What the catalogue, `providers` and the flat keys of the configuration say, each before the one that it names. */
function toChoice(
  name: string,
  entry: ProviderEntry | undefined,
  server: NamedServer | undefined,
  { baseUrl: configuredUrl, apiKey, apiMode: configuredMode, variables }: ProviderSelection,
): ProviderChoice {
  const names = server?.key_env === undefined ? (entry?.keyVariables ?? []) : [server.key_env]
  const firstKey = [apiKey, server?.api_key, ...names.map((name) => variables[name])].find((secret) => !!secret) ?? ''
  const vendorUrl = vendorAddress(entry, firstKey)
  const ofEnvironment = variables[entry?.addressVariable ?? ''] ?? ''
  const address = configuredUrl || server?.base_url || ofEnvironment || vendorUrl
  const apiMode = configuredMode ?? server?.api_mode ?? modeOfAddress(address, entry)
  const baseUrl = trimUrl(address, apiMode)
  const ownAddress = trimUrl(server?.base_url || ofEnvironment || vendorUrl, apiMode)
  const isOfficial = entry !== undefined && entry.isLocal === undefined && baseUrl === vendorUrl
  // A key that is configured with the address of another server keeps the keys of the vendor from that server.
  const isElsewhere = apiKey !== '' && server === undefined && baseUrl !== vendorUrl
  const keys: ProviderKey[] = [
    { source: 'config:api_key', secret: apiKey },
    { source: `config:providers.${name}.api_key`, secret: server?.api_key ?? '' },
    ...(isElsewhere ? [] : names).map(
      (variable): ProviderKey => ({ source: `env:${variable}`, secret: variables[variable] ?? '' }),
    ),
  ]
  return {
    name,
    apiMode,
    baseUrl,
    isOfficial,
    keys: keys.filter(({ secret }) => secret !== ''),
    keyVariable: names[0] ?? 'api_key',
    // A server that only speaks the vendor's protocol seldom follows its latest fields.
    quirks: isOfficial || server !== undefined ? (entry?.quirks ?? {}) : {},
    server: baseUrl === ownAddress ? server : undefined,
  }
}

/** Some keys of a vendor are for another address. */
function vendorAddress({ baseUrl = '', keyAddresses = {} }: Partial<ProviderEntry> = {}, key: string): string {
  return Object.entries(keyAddresses).find(([beginning]) => key.startsWith(beginning))?.[1] ?? baseUrl
}

/** Vendors have the API of Anthropic below such a path (contract §4.1). */
function modeOfAddress(address: string, entry: ProviderEntry | undefined): ApiMode {
  const isOwn = entry === undefined || entry.isLocal === true
  return isOwn && /\/anthropic\/?$/.test(address) ? 'anthropic_messages' : (entry?.apiMode ?? 'chat_completions')
}

function withoutServer(name: string): ProviderChoice {
  return { name, apiMode: 'chat_completions', baseUrl: '', isOfficial: false, keys: [], keyVariable: '', quirks: {} }
}

function trimUrl(url: string, apiMode: ApiMode): string {
  const plain = url.replace(/\/+$/, '')
  // Anthropic's SDK adds the version itself.
  return apiMode === 'anthropic_messages' ? plain.replace(/\/v1$/, '') : plain
}

/**
 * The keys decide first, then the address, then the model. A key of Anthropic does not select Anthropic for another
 * server: such a server most often uses OpenAI's protocol, and must not receive that key.
 */
function selectedName({ provider, apiKey, variables, baseUrl, model }: ProviderSelection): string {
  if (provider !== undefined && provider !== 'auto') return provider
  const isSet = (name: CatalogueName) =>
    catalogue[name].keyVariables.some((variable) => (variables[variable] ?? '') !== '')
  const byAddress = baseUrl === '' ? undefined : nameOfAddress(baseUrl)
  if (byAddress !== undefined && isSet(byAddress)) return byAddress
  const isClaude = /^claude/i.test(model)
  const mayBeAnthropic = baseUrl === '' || /anthropic/i.test(baseUrl)
  if (mayBeAnthropic && isClaude && (isSet('anthropic') || apiKey !== '')) return 'anthropic'
  // `vendor/model` is a name of OpenRouter, not of a vendor.
  if (baseUrl === '' && model.includes('/') && isSet('openrouter')) return 'openrouter'
  if (isSet('openai')) return 'openai'
  if (mayBeAnthropic && isSet('anthropic')) return 'anthropic'
  if (apiKey !== '' || baseUrl !== '') return 'openai'
  if (isSet('openrouter')) return 'openrouter'
  // Some of the variables have other purposes, too: alone they are no wish for a model.
  const withKey = model === '' ? undefined : vendors.find(isSet)
  if (withKey !== undefined) return withKey
  // A model without a key is an incomplete configuration; the demonstration must not hide that.
  if (model !== '') return isClaude ? 'anthropic' : 'openai'
  return 'demo'
}

const vendors = (Object.keys(catalogue) as readonly CatalogueName[]).filter((name) => !('isLocal' in catalogue[name]))

/** The provider to which an address belongs, so that its key goes there. The two largest vendors are recognised by their keys. */
function nameOfAddress(baseUrl: string): CatalogueName | undefined {
  const host = URL.parse(baseUrl)?.host
  if (host === undefined) return undefined
  return vendors.find(
    (name) => !/^(?:openai|anthropic)/.test(name) && URL.parse(catalogue[name].baseUrl)?.host === host,
  )
}
