/**
 * The configured models: that of the conversations, and those of other work. Providers are created with the first call.
 */
import { existsSync } from 'node:fs'
import type { AgentConfig } from '../../agent/config.ts'
import type { Auxiliary } from '../../agent/models/auxiliary.ts'
import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { ProviderSettings } from '../../agent/models/create-provider.ts'
import type { ProviderMonitor } from '../../agent/models/model-call-monitor.ts'
import type { ModelError } from '../../agent/models/provider.ts'
import { resolveProvider, serversOf } from '../../agent/models/resolve-provider.ts'
import type { Environment } from '../../config/environment.ts'
import { lazy } from '../../lib/cache.ts'
import { isHermesError } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Logger } from '../../lib/log.ts'
import { sleep } from '../../lib/timers.ts'
import type { MessageEvent } from '../../message/event.ts'
import { cronPlatform, type SessionSource } from '../../message/source.ts'
import type { AccountPolicy } from '../../platforms/accounts.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { AuxiliaryCalls } from './auxiliary-model.ts'
import type { ConversationFacts, ConversationModel } from './conversation-model.ts'
import type { FailedTurn, FallbackNotices } from './fallback-model.ts'
import type { ModelKeys } from './model-keys.ts'
import type { ModelMaker } from './other-model.ts'

export interface AgentModelsDeps {
  readonly environment: () => Environment
  readonly home: Pick<HomeLayout, 'authFile' | 'pictures'>
  readonly settings: () => AgentConfig
  readonly modelCalls: ProviderMonitor
  /** Opens the pool of keys. Without it, the first key of the configuration and the environment is used. */
  openModelKeys?(selection: () => ProviderSettings): Promise<ModelKeys>
  /** The parts of the calls of auxiliary models. */
  readonly auxiliaryCalls: AuxiliaryCalls
  /** Absent: platforms and chats have no models of their own. */
  policyOf?(source: SessionSource): Pick<AccountPolicy, 'models'>
  /** Absent: no one is told that another model answers. */
  readonly notices?: ModelNotices | undefined
  readonly log: Logger
}

/** What people are told of another model than theirs. The names are for people. All reject `store/...`. */
export interface ModelNotices extends FallbackNotices {
  /** The model that people chose for the conversation cannot be used. All three are for people. */
  modelUnusable(event: MessageEvent, key: string, chosen: string, why: string, instead: string): Promise<void>
}

/** The turn that a model is for. */
export type ModelTurn = Pick<Turn, 'sessionId' | 'event' | 'settings'>

export interface AgentModels {
  /** For one turn; the configured model without one. Rejects `config/...` when it cannot be used. */
  model(turn?: ModelTurn): Promise<ChosenModel>
  /** The model of a conversation, and where it is named. Rejects `config/...` when the configured model cannot be used. */
  conversationModel(facts: ConversationFacts): Promise<ConversationModel>
  /** The settings of the configured model. */
  selection(): ProviderSettings
  /** The settings with a stored key where the configuration and the environment have none. */
  withKey(settings: ProviderSettings): Promise<ProviderSettings>
  /**
   * The model of `fallback_providers` for the rest of a turn, after a failure or because all keys rest; null when none can help.
   * The people of `turn` are told. Never rejects.
   */
  fallback(failed: ChosenModel, failure?: ModelError, turn?: FailedTurn): Promise<ChosenModel | null>
  /** The models of `auxiliary`. */
  readonly auxiliary: Auxiliary
  /** Whether the configured model reads pictures, or the configuration names one for them. */
  canSeePictures(): Promise<boolean>
  /** The model of `delegation`; undefined when it names none. Rejects `config/...`. */
  subagentModel(): Promise<ChosenModel | undefined>
  /** The settings of the configured model, and the stored keys, for calls that are none of a model. */
  servers(): Promise<{ readonly main: ProviderSettings; readonly keys: ModelKeys | undefined }>
  /** The configured names. Loads nothing. */
  describe(): { readonly model: string; readonly provider: string }
  /** The configuration has changed: the next turn reads it. */
  reconfigured(): void
  close(): Promise<void>
}

export function createAgentModels(deps: AgentModelsDeps): AgentModels {
  let configured: { readonly settings: ProviderSettings; readonly chosen: Promise<ChosenModel> } | undefined
  const severalKeys = new WeakMap<ProviderSettings, boolean>()
  let keys: Promise<ModelKeys> | undefined
  const selection = () => providerSettings(deps)
  const load = lazyParts()
  /** Loaded when there are stored keys, several keys, or another model that answers while a key rests. */
  async function openKeys(settings: ProviderSettings): Promise<ModelKeys | undefined> {
    const isNeeded = () =>
      deps.settings().fallback_providers.length > 0 || existsSync(deps.home.authFile) || hasSeveralKeys(settings)
    if (keys === undefined && !isNeeded()) return undefined
    keys ??= deps.openModelKeys?.(selection)
    return await keys
  }

  /** Remembered for the configured model, whose settings every turn uses. */
  function hasSeveralKeys(settings: ProviderSettings): boolean {
    const known = severalKeys.get(settings)
    if (known !== undefined) return known
    const several = (resolveProvider(settings)?.keys.length ?? 0) > 1
    severalKeys.set(settings, several)
    return several
  }

  async function create(settings: ProviderSettings): Promise<ChosenModel> {
    const stored = await openKeys(settings)
    return await createModel(deps, stored === undefined ? settings : stored.withKey(settings))
  }

  async function withKeys({ provider, model }: ChosenModel, settings: ProviderSettings): Promise<ChosenModel> {
    const stored = await openKeys(settings)
    return stored === undefined ? { provider, model } : { model, provider: stored.forTurn(provider, settings) }
  }

  const maker: ModelMaker = {
    selection,
    create: async (settings) => withKeys(await create(settings), settings),
  }

  const conversationModel = async (facts: ConversationFacts) => {
    const { resolveConversationModel } = await load.conversationModel()
    return await resolveConversationModel(maker, deps.policyOf?.(facts.source).models, facts)
  }

  async function model(turn?: ModelTurn): Promise<ChosenModel> {
    if (turn === undefined) return await configuredModel()
    const place = placeOf(turn)
    const isConfigured = place.settings.model === undefined && deps.policyOf?.(place.source).models === undefined
    if (isConfigured) return await configuredModel()
    const { chosen, unusable } = await conversationModel(place)
    const answering = chosen ?? (await configuredModel())
    if (unusable !== undefined) await reportUnusable(turn, unusable, answering)
    return answering
  }

  async function reportUnusable(
    { event, sessionId }: ModelTurn,
    { provider, model: chosen, problem }: NonNullable<ConversationModel['unusable']>,
    instead: ChosenModel,
  ): Promise<void> {
    deps.log.warn(
      { event: 'model.choice_unusable', session: sessionId, provider, model: chosen, err: problem },
      'a model is left out',
    )
    const name = provider === '' ? chosen : `${chosen} (${provider})`
    const key = `${sessionId}:${provider}:${chosen}`
    const answering = `${instead.model} (${instead.provider.name})`
    await deps.notices?.modelUnusable(event, key, name, problem.message, answering)
  }

  async function configuredModel(): Promise<ChosenModel> {
    configured ??= openConfigured()
    const { settings, chosen } = configured
    try {
      return await withKeys(await chosen, settings)
    } catch (error) {
      // A key may be added while the gateway runs.
      configured = undefined
      throw error
    }
  }

  function openConfigured() {
    const settings = selection()
    return { settings, chosen: create(settings) }
  }

  async function fallback(failed: ChosenModel, failure?: ModelError, turn?: FailedTurn): Promise<ChosenModel | null> {
    const { fallback_providers: entries } = deps.settings()
    if (entries.length === 0) return null
    const { chooseFallback, reportFallback } = await import('./fallback-model.ts')
    const { notices, log } = deps
    const next = await chooseFallback(maker, { entries, log }, failed, failure)
    if (next !== null && turn !== undefined) await reportFallback({ notices, log }, turn, { failed, next, failure })
    return next
  }

  return {
    model,
    conversationModel,
    selection,
    withKey: async (settings) => (await openKeys(settings))?.withKey(settings) ?? settings,
    fallback,
    auxiliary: (task) => ({
      async isConfigured() {
        const { isOwnModel } = await import('./other-model.ts')
        return isOwnModel(deps.settings(), task)
      },
      async complete(request) {
        const { callAuxiliaryModel } = await load.auxiliaryModel()
        const { settings, auxiliaryCalls, log } = deps
        return await callAuxiliaryModel(
          { ...auxiliaryCalls, ...maker, settings, log, main: configuredModel, fallback },
          task,
          request,
        )
      },
    }),
    async canSeePictures() {
      const { provider, model: named, base_url } = deps.settings().auxiliary.vision
      if (!['auto', 'main', ''].includes(provider) || named !== '' || base_url !== '') return true
      try {
        const main = await configuredModel()
        return main.provider.sees?.(main.model) === true
      } catch (error) {
        // A turn reports it.
        if (isHermesError(error)) return false
        throw error
      }
    },
    async subagentModel() {
      const { model, provider, base_url, api_key, api_mode } = deps.settings().delegation
      const isUnset = [model, provider, base_url, api_key].every((value) => value === '')
      if (isUnset && api_mode === undefined) return undefined
      const { otherModelSettings } = await import('./other-model.ts')
      const named = { provider: provider || 'main', model, base_url, api_key, api_mode }
      return await maker.create(otherModelSettings(selection(), named))
    },
    servers: async () => ({ main: selection(), keys: await openKeys(selection()) }),
    describe: () => ({ model: deps.settings().model, provider: resolveProvider(selection())?.name ?? 'none' }),
    reconfigured() {
      configured = undefined
    },
    async close() {
      await (await keys)?.close()
    },
  }
}

/** Remembered, because an import of a file that is loaded takes 0.1 ms. */
function lazyParts() {
  return {
    conversationModel: lazy(() => import('./conversation-model.ts')),
    auxiliaryModel: lazy(() => import('./auxiliary-model.ts')),
  }
}

/** A task that a person has asked for has the model of the conversation. */
function placeOf({ event: { source, task }, settings }: ModelTurn): ConversationFacts {
  // The person who made a job chose its model.
  if (task?.route === cronPlatform && task.model !== undefined)
    return { source, settings: { ...settings, model: task.model } }
  if (task?.isRequested !== true || task.deliver === null) return { source, settings }
  return { source: { ...source, ...task.deliver }, settings: { ...(task.model && { model: task.model }), ...settings } }
}

async function createModel({ modelCalls, home }: AgentModelsDeps, settings: ProviderSettings): Promise<ChosenModel> {
  const { createProvider } = await import('../../agent/models/create-provider.ts')
  const choice = createProvider(settings, { sleep, monitor: modelCalls, picturesFolder: home.pictures })
  if ('problem' in choice) throw choice.problem
  return choice
}

function providerSettings({ settings, environment }: AgentModelsDeps): ProviderSettings {
  const { provider, model, base_url: baseUrl, api_key: apiKey, api_mode: apiMode, agent } = settings()
  const providers = serversOf(settings())
  const timeouts = { idleTimeoutMs: agent.model_timeout * 1_000, totalTimeoutMs: agent.model_call_timeout * 1_000 }
  const { values: variables } = environment()
  const modelPrices = pricesOf(settings())
  const { image_input_mode: imageInputMode } = agent
  return { provider, providers, model, baseUrl, apiKey, apiMode, variables, modelPrices, imageInputMode, ...timeouts }
}

function pricesOf({ model_prices: prices }: AgentConfig): NonNullable<ProviderSettings['modelPrices']> {
  return Object.fromEntries(
    Object.entries(prices).map(([model, { input, cached_input, cache_write, output }]) => [
      model,
      { input, cachedInput: cached_input ?? input, cacheWrite: cache_write ?? input, output },
    ]),
  )
}
