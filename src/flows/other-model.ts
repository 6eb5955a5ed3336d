/**
 * The settings of a model other than that of the conversation: those of `auxiliary`, and that of sub-agents (`delegation`). What
 * they leave empty is that of the conversation.
 */
import type { AgentConfig } from '../agent/config.ts'
import type { AuxiliaryTask } from '../agent/models/auxiliary.ts'
import type { ProviderSettings } from '../agent/models/create-provider.ts'

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
    return { ...named, provider: name, baseUrl, apiKey, hasOwnKey: true, variables: {}, ...withMode(apiMode) }
  }
  const own = apiKey === '' ? {} : { hasOwnKey: true }
  if (isMain || provider === main.provider)
    return { ...named, apiKey: apiKey || main.apiKey, ...own, ...withMode(apiMode ?? mainMode) }
  return { ...named, provider, baseUrl: '', apiKey, ...own, ...withMode(apiMode) }
}
