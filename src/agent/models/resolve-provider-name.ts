/**
 * Determines the configured provider. Separate from the providers, so that the daemon can report the name without
 * loading them.
 */
export type ProviderName = 'openai' | 'openai-responses' | 'anthropic' | 'demo' | 'none'

export interface ProviderSelection {
  /** When omitted, the configured keys decide. */
  readonly provider?: ProviderName | undefined
  readonly model: string
  /** '' for the vendor's own server. */
  readonly baseUrl: string
  /** The key of the selected provider; takes precedence over the vendors' own keys. */
  readonly apiKey: string
  readonly openaiApiKey: string
  readonly anthropicApiKey: string
}

/**
 * The keys decide first, then the address, then the model. A key of Anthropic does not select Anthropic for another
 * server: such a server most often uses OpenAI's protocol, and must not receive that key.
 */
export function resolveProviderName(selection: ProviderSelection): ProviderName {
  const { provider, apiKey, openaiApiKey, anthropicApiKey, baseUrl, model } = selection
  if (provider !== undefined) return provider
  const isClaude = /^claude/i.test(model)
  const mayBeAnthropic = baseUrl === '' || /anthropic/i.test(baseUrl)
  if (mayBeAnthropic && isClaude && (anthropicApiKey !== '' || apiKey !== '')) return 'anthropic'
  if (openaiApiKey !== '') return 'openai'
  if (mayBeAnthropic && anthropicApiKey !== '') return 'anthropic'
  if (apiKey !== '' || baseUrl !== '') return 'openai'
  // A model without a key is an incomplete configuration; the demonstration must not hide that.
  if (model !== '') return isClaude ? 'anthropic' : 'openai'
  return 'demo'
}
