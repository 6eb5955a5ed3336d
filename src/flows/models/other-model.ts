/**
 * The settings of a model other than that of the conversation: those of `auxiliary`, and that of sub-agents (`delegation`). What
 * they leave empty is that of the conversation.
 */
import type { AgentConfig } from '../../agent/config.ts'
import type { AuxiliaryTask } from '../../agent/models/auxiliary.ts'
import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { ModelConfig } from '../../agent/models/config.ts'
import type { ProviderSettings } from '../../agent/models/create-provider.ts'
import { type ProviderSelection, resolveProvider, selectionOfName } from '../../agent/models/resolve-provider.ts'

/** Makes models of settings. */
export interface ModelMaker {
  /** The settings of the configured model. */
  selection(): ProviderSettings
  /** Rejects `config/…`. */
  create(settings: ProviderSettings): Promise<ChosenModel>
}

export type OtherModel = Pick<AgentConfig['auxiliary']['approval'], 'provider' | 'model' | 'base_url' | 'api_key'> &
  Partial<Pick<AgentConfig, 'api_mode'>>

/** With the former names of the keys of `auxiliary.compression`. */
export function auxiliarySettings({ auxiliary, compression }: AgentConfig, task: AuxiliaryTask): OtherModel {
  const named = auxiliary[task]
  if (task !== 'compression') return named
  const { summary_model, summary_provider, summary_base_url } = compression
  return {
    provider: named.provider === 'auto' && summary_provider !== '' ? summary_provider : named.provider,
    model: named.model || summary_model,
    base_url: named.base_url || summary_base_url,
    api_key: named.api_key,
  }
}

/** Whether the configuration names anything for a task. */
export function isOwnModel(settings: AgentConfig, task: AuxiliaryTask): boolean {
  const { provider, model, base_url, api_key } = auxiliarySettings(settings, task)
  return (provider !== 'auto' && provider !== 'main') || [model, base_url, api_key].some((value) => value !== '')
}

/** A key goes only to the address or the vendor for which it was configured. */
export function otherModelSettings(
  main: ProviderSettings,
  { provider, model, base_url: baseUrl, api_key: apiKey, api_mode: apiMode }: OtherModel,
): ProviderSettings {
  const isMain = provider === 'auto' || provider === 'main'
  const { apiMode: mainMode, ...named } = { ...main, model: model || main.model }
  const withMode = (mode: typeof apiMode) => (mode === undefined ? {} : { apiMode: mode })
  if (baseUrl !== '') {
    const name = isMain ? (main.provider ?? 'openai') : provider
    return { ...withoutForeignKeys(named, { ...named, provider: name, baseUrl, apiKey }), ...withMode(apiMode) }
  }
  const keyFlag = apiKey === '' ? {} : { hasOwnKey: true }
  if (isMain || provider === main.provider)
    return { ...named, apiKey: apiKey || main.apiKey, ...keyFlag, ...withMode(apiMode ?? mainMode) }
  return { ...named, provider, baseUrl: '', apiKey, ...keyFlag, ...withMode(apiMode) }
}

/**
 * The settings of a provider at the address that `selection` names. A key that was configured for another address is not sent there.
 * @param main the configured model
 */
export function withoutForeignKeys<Selection extends ProviderSettings>(main: ProviderSettings, selection: Selection) {
  const selected = selection.apiKey === '' ? ownSelection(main, selection) : undefined
  if (selected !== undefined) return { ...selection, apiKey: selected.apiKey }
  const servers = Object.entries(selection.providers ?? {}).map(
    ([name, { api_key: _key, key_env: _variable, ...server }]) => [name, server] as const,
  )
  return { ...selection, hasOwnKey: true, variables: {}, providers: Object.fromEntries(servers) }
}

/** How the configuration reaches the provider, if that is at the same address. */
function ownSelection(main: ProviderSelection, selection: ProviderSelection): ProviderSelection | undefined {
  const choice = resolveProvider(selection)
  if (choice === undefined) return undefined
  const ways = [selectionOfName(main, choice.name), { ...selection, baseUrl: '' }]
  return ways.find((candidate) => resolveProvider(candidate)?.baseUrl === choice.baseUrl)
}

/** Whether an entry of `fallback_providers` uses the keys that its provider has in the configuration, the environment and auth.json. */
export function usesProviderKeys(
  main: ProviderSelection,
  { provider, base_url: baseUrl = '', api_key, key_env }: ModelConfig['fallback_providers'][number],
): boolean {
  if (api_key !== undefined || key_env !== undefined) return false
  const selection = { ...main, provider, baseUrl, apiKey: '', apiMode: undefined }
  return baseUrl === '' || ownSelection(main, selection) !== undefined
}
