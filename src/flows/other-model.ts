/**
 * The settings of a model other than that of the conversation: the one that judges commands (`auxiliary.approval`), and that of
 * sub-agents (`delegation`). What they leave empty is that of the conversation.
 */
import type { AgentConfig } from '../agent/config.ts'
import type { ProviderSettings } from '../agent/models/create-provider.ts'

/** A key goes only to the address or the vendor for which it was configured. */
export function otherModelSettings(
  main: ProviderSettings,
  other: Pick<AgentConfig['auxiliary']['approval'], 'provider' | 'model' | 'base_url' | 'api_key'>,
): ProviderSettings {
  const { provider, model, base_url: baseUrl, api_key: apiKey } = other
  const isMain = provider === 'auto' || provider === 'main'
  const named = { ...main, model: model || main.model }
  if (baseUrl !== '')
    return {
      ...named,
      provider: isMain ? (main.provider ?? 'openai') : provider,
      baseUrl,
      apiKey,
      variables: {},
    }
  if (isMain || provider === main.provider) return { ...named, apiKey: apiKey || main.apiKey }
  return { ...named, provider, baseUrl: '', apiKey }
}
