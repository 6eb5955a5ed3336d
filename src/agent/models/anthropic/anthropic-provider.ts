/**
 * The provider for Anthropic's Messages API and for compatible servers.
 */

import type { Provider } from '../provider.ts'
import type { ProviderOptions } from '../provider-options.ts'
import { createStreamingProvider } from '../streaming-provider.ts'
import { createSdkTransport, httpFetch, limitErrorBody } from '../transport.ts'
import type { WireFormat } from '../wire-format.ts'
import { buildAnthropicRequest } from './request.ts'
import {
  createAnthropicAggregator,
  isAnthropicProgress,
  parseAnthropicDelta,
  parseAnthropicResponse,
} from './response.ts'

const vendorUrl = 'https://api.anthropic.com'

const messagesFormat: WireFormat = {
  apiMode: 'anthropic_messages',
  buildRequest: buildAnthropicRequest,
  createAggregator: createAnthropicAggregator,
  isProgress: isAnthropicProgress,
  parseDelta: parseAnthropicDelta,
  parseResponse: parseAnthropicResponse,
}

export function createAnthropicProvider(options: ProviderOptions): Provider {
  const transport = createSdkTransport('/v1/messages', () => loadClient(options), options.pictures)
  return createStreamingProvider(messagesFormat, transport, options)
}

async function loadClient({ apiKey, baseUrl }: ProviderOptions) {
  const { Anthropic } = await import('@anthropic-ai/sdk')
  return new Anthropic({
    // Without a key the SDK would search the environment and files for one; then no header is sent.
    apiKey: apiKey || 'none',
    authToken: null,
    webhookKey: null,
    openTelemetry: false,
    baseURL: baseUrl,
    logLevel: 'off',
    maxRetries: 0,
    fetch: limitErrorBody(httpFetch),
    defaultHeaders: authenticationHeaders(apiKey, baseUrl),
  })
}

/** The SDK sends the key as a bearer token; most compatible servers expect the older header. */
function authenticationHeaders(apiKey: string, baseUrl: string): Record<string, string | null> {
  if (apiKey === '') return { Authorization: null }
  return baseUrl === vendorUrl ? {} : { 'X-Api-Key': apiKey }
}
