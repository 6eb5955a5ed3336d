/**
 * The models that can be chosen: asks the providers that have a key for their lists, and finds the one that a person names. Loaded by
 * `/model` and `hermes model`.
 */
import { catalogue, findProvider, providersWithKeys } from '../../agent/models/catalogue.ts'
import { createProvider, type ProviderSettings } from '../../agent/models/create-provider.ts'
import { type ListedModel, listModels } from '../../agent/models/list-models.ts'
import { findServer, type ProviderChoice, resolveProvider } from '../../agent/models/resolve-provider.ts'
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { toError } from '../../lib/errors.ts'
import type { AgentModels } from './agent-models.ts'
import { windowOf } from './conversation-model.ts'

export interface ProviderModels {
  readonly provider: string
  /** For people. */
  readonly label: string
  readonly baseUrl: string
  readonly models: readonly ListedModel[]
  /** Why the provider gave no list. */
  readonly failure?: Error
}

export type FoundModel =
  | {
      readonly kind: 'found'
      readonly provider: string
      readonly model: string
      readonly contextLength?: number | undefined
      /** The provider gave no list, so it may not have the model. */
      readonly isUnchecked?: true
    }
  | { readonly kind: 'unknown-provider'; readonly provider: string; readonly closest: string | null }
  /** `models`: what the person may have meant. */
  | { readonly kind: 'unknown-model'; readonly provider: string; readonly models: readonly string[] }
  /** `provider:model` each. */
  | { readonly kind: 'ambiguous'; readonly models: readonly string[] }
  /** The key or the server does not work. */
  | { readonly kind: 'unusable'; readonly provider: string; readonly problem: Error }

export interface ModelDirectory {
  /** The providers with a key or an address, the one of these settings first. */
  providers(current?: ProviderSettings): Promise<readonly string[]>
  /** Undefined for an unknown provider. Never rejects because of the provider. */
  list(provider: string): Promise<ProviderModels | undefined>
  /**
   * `provider:model`, `model`, `custom:name:model` or `provider`, as Hermes reads them. `provider` may be given apart.
   * @param current the settings of the conversation
   */
  find(words: string, provider: string | undefined, current: ProviderSettings): Promise<FoundModel>
}

const defaultTimeoutMs = 5_000

/** @param timeoutMs how long a provider may take to answer */
export function createModelDirectory(
  { selection, withKey }: Pick<AgentModels, 'selection' | 'withKey'>,
  timeoutMs = defaultTimeoutMs,
): ModelDirectory {
  /** The settings of another provider; those of the configuration if it is the configured one. */
  function settingsOf(provider: string): ProviderSettings {
    const main = selection()
    const other = { ...main, provider, baseUrl: '', apiKey: '', apiMode: undefined, model: '' }
    const isMain = resolveProvider(other)?.name === resolveProvider(main)?.name
    return isMain ? { ...main, provider: main.provider === undefined ? provider : main.provider, model: '' } : other
  }

  async function list(provider: string): Promise<ProviderModels | undefined> {
    const settings = await withKey(settingsOf(provider))
    const choice = resolveProvider(settings)
    if (choice === undefined) return undefined
    const { name, baseUrl } = choice
    const label = findProvider(name)?.entry.label ?? name
    const configured = configuredModels(settings, choice)
    const problem = problemOf(settings)
    if (problem !== undefined) return { provider: name, label, baseUrl, models: configured, failure: problem }
    try {
      const listed = await listModels(choice, { apiKey: choice.keys[0]?.secret ?? '', timeoutMs })
      const configuredIds = new Set(configured.map(({ id }) => id))
      return {
        provider: name,
        label,
        baseUrl,
        models: [...configured, ...listed.filter(({ id }) => !configuredIds.has(id))],
      }
    } catch (error) {
      return { provider: name, label, baseUrl, models: configured, failure: toError(error) }
    }
  }

  async function providers(current: ProviderSettings = selection()): Promise<string[]> {
    const main = selection()
    const vendors = providersWithKeys
    const withKeys = await Promise.all(
      vendors.map(async (name) => {
        const choice = resolveProvider(await withKey(settingsOf(name)))
        return choice !== undefined && choice.keys.length > 0 ? [name] : []
      }),
    )
    const names = [resolveProvider(current)?.name, resolveProvider(main)?.name, ...Object.keys(main.providers ?? {})]
    const known = [...names, ...withKeys.flat()].flatMap((name) => {
      const resolved = name === undefined ? undefined : resolveProvider(settingsOf(name))?.name
      return resolved === undefined || resolved === 'demo' || resolved === 'none' ? [] : [resolved]
    })
    return [...new Set(known)]
  }

  async function findAt(provider: string, model: string): Promise<FoundModel> {
    const all = await list(provider)
    if (all === undefined) {
      const names = [...Object.keys(catalogue), ...Object.keys(selection().providers ?? {})]
      return { kind: 'unknown-provider', provider, closest: findClosestMatch(provider, names) }
    }
    const settings = settingsOf(provider)
    const wanted = model || findServer(settings.providers, all.provider)?.server.model || onlyOne(all)
    const exact = all.models.find(({ id }) => id.toLowerCase() === wanted.toLowerCase())
    if (exact !== undefined) return toFoundModel(all, exact)
    if (all.failure !== undefined) {
      if (wanted === '' || !isWithoutList(all.failure))
        return { kind: 'unusable', provider: all.provider, problem: all.failure }
      return { ...toFoundModel(all, { id: wanted }), isUnchecked: true }
    }
    const parts = wanted === '' ? [] : all.models.filter(({ id }) => id.toLowerCase().includes(wanted.toLowerCase()))
    const [first, second] = parts
    if (first !== undefined && second === undefined) return toFoundModel(all, first)
    if (first !== undefined)
      return { kind: 'ambiguous', models: parts.slice(0, maxShown).map(({ id }) => `${all.provider}:${id}`) }
    return { kind: 'unknown-model', provider: all.provider, models: suggestions(wanted, all.models) }
  }

  function toFoundModel({ provider }: ProviderModels, { id, contextLength }: ListedModel) {
    const window = contextLength ?? windowOf({ ...settingsOf(provider), model: id })
    return { kind: 'found', provider, model: id, contextLength: window } as const
  }

  /** Another provider that has exactly this model. */
  async function findElsewhere(
    model: string,
    current: string,
    settings: ProviderSettings,
  ): Promise<FoundModel | undefined> {
    const others = (await providers(settings)).filter((name) => name !== current)
    const lists = await Promise.all(others.map(list))
    const hits = lists.flatMap((each) => {
      const exact = each?.models.find(({ id }) => id.toLowerCase() === model.toLowerCase())
      return each === undefined || exact === undefined ? [] : [toFoundModel(each, exact)]
    })
    const [first, second] = hits
    if (first === undefined || second === undefined) return first
    return { kind: 'ambiguous', models: hits.map(({ provider, model: id }) => `${provider}:${id}`) }
  }

  return {
    providers,
    list,
    async find(words, provider, current) {
      const named = provider === undefined ? splitProvider(words, current) : { provider, model: words }
      if (named !== undefined) return await findAt(named.provider, named.model)
      const name = resolveProvider(current)?.name ?? ''
      if (name === '' || name === 'demo' || name === 'none')
        return (await findElsewhere(words, name, current)) ?? { kind: 'unknown-model', provider: name, models: [] }
      const here = await findAt(name, words)
      const isExact = here.kind === 'found' && here.model.toLowerCase() === words.toLowerCase() && !here.isUnchecked
      return isExact ? here : ((await findElsewhere(words, name, current)) ?? here)
    },
  }
}

/** Undefined when the words begin with no known provider: `qwen3:14b` is a model of Ollama. */
export function splitProvider(
  words: string,
  { providers }: ProviderSettings,
): { provider: string; model: string } | undefined {
  const parts = words.split(':')
  for (const length of [2, 1]) {
    const provider = parts.slice(0, length).join(':')
    const isKnown = findProvider(provider) !== undefined || findServer(providers, provider) !== undefined
    if (parts.length >= length && isKnown) return { provider, model: parts.slice(length).join(':') }
  }
  return undefined
}

function configuredModels({ providers, model }: ProviderSettings, { name }: ProviderChoice): ListedModel[] {
  const server = findServer(providers, name)?.server
  const listed = Object.entries(server?.models ?? {}).map(([id, { context_length: contextLength }]): ListedModel => {
    return contextLength === undefined ? { id } : { id, contextLength }
  })
  const named = server?.model ?? model
  return named === '' || listed.some(({ id }) => id === named) ? listed : [{ id: named }, ...listed]
}

/** Why no request can be sent, whatever the model. */
function problemOf(settings: ProviderSettings): Error | undefined {
  const created = createProvider({ ...settings, model: 'any' })
  return 'problem' in created ? created.problem : undefined
}

/** The server works, and has no list. */
function isWithoutList(failure: Error): boolean {
  return 'kind' in failure && (failure.kind === 'invalid-request' || failure.kind === 'bad-response')
}

function onlyOne({ models }: ProviderModels): string {
  return models.length === 1 ? (models[0]?.id ?? '') : ''
}

const maxShown = 8

function suggestions(wanted: string, models: readonly ListedModel[]): string[] {
  const ids = models.map(({ id }) => id)
  const closest = wanted === '' ? null : findClosestMatch(wanted, ids)
  return closest === null ? ids.slice(0, maxShown) : [closest]
}
