/**
 * The providers for OpenAI's two APIs and for compatible servers.
 */
import type { ClientOptions } from 'openai'
import type { Provider } from '../provider.ts'
import type { ProviderOptions } from '../provider-options.ts'
import { createStreamingProvider } from '../streaming-provider.ts'
import { createSdkTransport, type FetchFunction, httpFetch, limitErrorBody } from '../transport.ts'
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

async function loadClient({ apiKey, baseUrl }: ProviderOptions) {
  const { OpenAI } = await import('openai')
  return new OpenAI(createClientOptions(baseUrl, apiKey, httpFetch))
}

/**
 * The options of all clients of the SDK.
 *
 * @param apiKey '' for a server without authentication
 */
export function createClientOptions(baseURL: string, apiKey: string, fetch: FetchFunction): ClientOptions {
  return {
    baseURL,
    // The SDK requires a key. A local server often has none; then no header is sent.
    apiKey: apiKey || 'none',
    defaultHeaders: apiKey === '' ? { Authorization: null } : undefined,
    // When omitted, these are read from the process environment.
    organization: null,
    project: null,
    webhookSecret: null,
    adminAPIKey: null,
    logLevel: 'off',
    // The caller repeats a call, perhaps with another key.
    maxRetries: 0,
    fetch: limitErrorBody(fetch),
  }
}
