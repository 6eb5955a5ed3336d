/**
 * The providers for OpenAI's two APIs and for compatible servers.
 */
import type { Provider } from '../provider.ts'
import type { ProviderOptions } from '../provider-options.ts'
import { createSdkTransport } from '../sdk-transport.ts'
import { createStreamingProvider } from '../streaming-provider.ts'
import { createChatFormat } from './chat-completions.ts'
import { createClientOptions } from './client-options.ts'
import { responsesFormat } from './responses.ts'

export function createOpenAiChatProvider(options: ProviderOptions): Provider {
  const transport = createSdkTransport('/chat/completions', () => loadClient(options), options.pictures)
  return createStreamingProvider(createChatFormat(options.quirks), transport, options)
}

export function createOpenAiResponsesProvider(options: ProviderOptions): Provider {
  const transport = createSdkTransport('/responses', () => loadClient(options), options.pictures)
  return createStreamingProvider(responsesFormat, transport, options)
}

async function loadClient({ apiKey, baseUrl, fetch }: ProviderOptions) {
  const { OpenAI } = await import('openai')
  return new OpenAI(createClientOptions(baseUrl, apiKey, fetch))
}
