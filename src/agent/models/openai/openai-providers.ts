/**
 * The providers for OpenAI's two APIs and for compatible servers.
 */
import { limitErrorBody } from '../http-fetch.ts'
import type { Provider } from '../provider.ts'
import type { ProviderOptions } from '../provider-options.ts'
import { createSdkTransport } from '../sdk-transport.ts'
import { createStreamingProvider } from '../streaming-provider.ts'
import { createChatFormat } from './chat-completions.ts'
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
  return new OpenAI({
    // The SDK requires a key. A local server often has none; then no header is sent.
    apiKey: apiKey || 'none',
    baseURL: baseUrl,
    // When omitted, these are read from the process environment.
    organization: null,
    project: null,
    webhookSecret: null,
    adminAPIKey: null,
    logLevel: 'off',
    maxRetries: 0,
    fetch: limitErrorBody(fetch),
    ...(apiKey === '' ? { defaultHeaders: { Authorization: null } } : {}),
  })
}
