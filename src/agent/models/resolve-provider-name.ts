/**
 * Which provider a configuration means. Apart from the providers themselves, so that a daemon can say it without
 * loading them.
 */
export type ProviderName = 'openai' | 'openai-responses' | 'anthropic' | 'demo'

export interface ProviderSelection {
  /** Left out: chosen by the keys that are set. */
  readonly provider?: ProviderName | undefined
  readonly model: string
  /** '' for the vendor's own address. */
  readonly baseUrl: string
  /** The key for whichever provider is chosen; goes before the vendors' own keys. */
  readonly apiKey: string
  readonly openaiApiKey: string
  readonly anthropicApiKey: string
}

/**
 * Keys first, then the address, then nothing. A key of Anthropic is not taken for an address that is not Anthropic's:
 * such an address mostly speaks OpenAI's protocol, and the key is none of its business.
 */
export function resolveProviderName(hints: ProviderSelection): ProviderName {
  const { provider, apiKey, openaiApiKey, anthropicApiKey, baseUrl, model } = hints
  if (provider !== undefined) return provider
  const isClaude = /^claude/i.test(model)
  const mayBeAnthropic = baseUrl === '' || /anthropic/i.test(baseUrl)
  if (mayBeAnthropic && isClaude && (anthropicApiKey !== '' || apiKey !== '')) return 'anthropic'
  if (openaiApiKey !== '') return 'openai'
  if (mayBeAnthropic && anthropicApiKey !== '') return 'anthropic'
  if (apiKey !== '' || baseUrl !== '') return 'openai'
  // A model without a key is a configuration that lacks something, not one that was never begun.
  if (model !== '') return isClaude ? 'anthropic' : 'openai'
  return 'demo'
}
