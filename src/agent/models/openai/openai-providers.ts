/**
 * The providers for OpenAI's two APIs and for compatible servers.
 */
import type { Provider } from '../provider.ts'
import type { ProviderOptions } from '../provider-options.ts'
import { createStreamingProvider } from '../streaming-provider.ts'
import { createTransport, type ModelTransport } from '../transport.ts'
import { createChatFormat } from './chat-completions.ts'
import { responsesFormat } from './responses.ts'

export function createOpenAiChatProvider(options: ProviderOptions): Provider {
  return createStreamingProvider(createChatFormat(options.quirks), transportTo('/chat/completions', options), options)
}

export function createOpenAiResponsesProvider(options: ProviderOptions): Provider {
  return createStreamingProvider(responsesFormat, transportTo('/responses', options), options)
}

function transportTo(path: string, { apiKey, baseUrl, pictures }: ProviderOptions): ModelTransport {
  const headers: Record<string, string> = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }
  return createTransport({ url: baseUrl + path, headers }, pictures)
}
