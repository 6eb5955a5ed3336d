/**
 * What models cost at their vendors: data, not code. A model that is not here has no known price, unless the configuration gives
 * one (`model_prices`). From the price lists of the vendors, November 2026, for requests of normal priority. Where the price
 * depends on the hour, it is the higher one.
 */
import { isLoopbackHost } from '../../lib/local-origin.ts'
import type { ModelPrice } from './provider.ts'
import type { ProviderChoice } from './resolve-provider.ts'

type PriceList = Readonly<Record<string, ModelPrice>>

/** US dollars per million tokens. */
function price(input: number, cachedInput: number, cacheWrite: number, output: number): ModelPrice {
  return { input, cachedInput, cacheWrite, output }
}

const longAbove272k = { above: 272_000, input: 2, output: 1.5 }
const longAbove200k = { above: 200_000, input: 2, output: 1.5 }

const openAi: PriceList = {
  'gpt-6-astra': { ...price(10, 1, 12.5, 50), longPrompt: longAbove272k },
  'gpt-6-sol': { ...price(2, 0.2, 2.5, 10), longPrompt: longAbove272k },
  'gpt-6-luna': { ...price(0.1, 0.01, 0.125, 0.5), longPrompt: longAbove272k },
  'gpt-6.1-sol': { ...price(2, 0.1, 2.5, 10), longPrompt: longAbove272k },
  'gpt-6.1-terra': { ...price(1, 0.05, 1.25, 5), longPrompt: longAbove272k },
  'gpt-5.6-terra': { ...price(2, 0.2, 2, 12), longPrompt: longAbove272k },
  'gpt-5.6-luna': { ...price(0.2, 0.02, 0.2, 1.2), longPrompt: longAbove272k },
  'gpt-5.5': { ...price(5, 0.5, 5, 30), longPrompt: longAbove272k },
  'gpt-5.4': { ...price(2.5, 0.25, 2.5, 15), longPrompt: longAbove272k },
  'gpt-5.4-mini': price(0.75, 0.075, 0.75, 4.5),
  'gpt-5.4-nano': price(0.2, 0.02, 0.2, 1.25),
  'gpt-5.2': price(1.75, 0.175, 1.75, 14),
  'gpt-5.1': price(1.25, 0.125, 1.25, 10),
  'gpt-5': price(1.25, 0.125, 1.25, 10),
  'gpt-5-mini': price(0.25, 0.025, 0.25, 2),
  'gpt-5-nano': price(0.05, 0.005, 0.05, 0.4),
  'gpt-4.1': price(2, 0.5, 2, 8),
  'gpt-4.1-mini': price(0.4, 0.1, 0.4, 1.6),
  'gpt-4o': price(2.5, 1.25, 2.5, 10),
  'gpt-4o-mini': price(0.15, 0.075, 0.15, 0.6),
}

const anthropic: PriceList = {
  'claude-fable-5-1': price(10, 0.25, 12.5, 50),
  'claude-fable-5': price(10, 1, 12.5, 50),
  'claude-opus-5-5': price(4, 0.2, 5, 20),
  'claude-opus-5': price(5, 0.5, 6.25, 25),
  'claude-opus-4-8': price(5, 0.5, 6.25, 25),
  'claude-opus-4-7': price(5, 0.5, 6.25, 25),
  'claude-opus-4-6': price(5, 0.5, 6.25, 25),
  'claude-opus-4-5': price(5, 0.5, 6.25, 25),
  'claude-sonnet-5-5': price(2, 0.1, 2.5, 10),
  'claude-sonnet-5': price(2, 0.2, 2.5, 10),
  'claude-sonnet-4-6': price(3, 0.3, 3.75, 15),
  'claude-sonnet-4-5': price(3, 0.3, 3.75, 15),
  'claude-haiku-5-5': { ...price(0.1, 0.01, 0.125, 0.5), longPrompt: { above: 100_000, input: 5, output: 5 } },
  'claude-haiku-4-5': price(1, 0.1, 1.25, 5),
}

const prices: Readonly<Record<string, PriceList>> = {
  openai: openAi,
  'openai-responses': openAi,
  anthropic,
  deepseek: {
    'deepseek-flash': price(0.3, 0.006, 0.3, 1.2),
    'deepseek-v4-pro': price(1.32, 0.044, 1.32, 3.96),
  },
  gemini: {
    'gemini-3-pro-preview': { ...price(2, 0.2, 2, 12), longPrompt: longAbove200k },
    'gemini-3-flash-preview': price(0.5, 0.05, 0.5, 3),
    'gemini-2.5-pro': { ...price(1.25, 0.125, 1.25, 10), longPrompt: longAbove200k },
    'gemini-2.5-flash': price(0.3, 0.03, 0.3, 2.5),
    'gemini-2.5-flash-lite': price(0.1, 0.01, 0.1, 0.4),
  },
}

/** A server on this machine bills nothing. */
const free: PriceList = { '*': price(0, 0, 0, 0) }
const localServers: ReadonlySet<string> = new Set(['ollama', 'lmstudio', 'vllm'])

/** The known prices at a server, by name of the model without its date; `*` is any model. */
export function pricesAt(
  { name, baseUrl, isOfficial }: Pick<ProviderChoice, 'name' | 'baseUrl' | 'isOfficial'>,
  configured: PriceList = {},
): PriceList {
  const isLocal = localServers.has(name) && isLoopbackHost(URL.parse(baseUrl)?.hostname ?? '')
  const known = isOfficial ? prices[name] : isLocal ? free : undefined
  return { ...known, ...configured }
}
