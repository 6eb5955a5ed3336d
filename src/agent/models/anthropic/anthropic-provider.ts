/**
 * The provider for Anthropic's Messages API and for compatible servers.
 */
import type { Provider } from '../provider.ts'
import type { ProviderOptions } from '../provider-options.ts'
import { createStreamingProvider } from '../streaming-provider.ts'
import { createTransport } from '../transport.ts'
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
  const { apiKey, baseUrl, pictures } = options
  const headers = { 'anthropic-version': '2026-10-21', ...authenticationHeaders(apiKey, baseUrl) }
  const transport = createTransport({ url: `${baseUrl}/v1/messages`, headers }, pictures)
  return createStreamingProvider(messagesFormat, transport, options)
}

/** The vendor takes the key as a bearer token; most compatible servers expect the older header. */
function authenticationHeaders(apiKey: string, baseUrl: string): Record<string, string> {
  if (apiKey === '') return {}
  const authorization = `Bearer ${apiKey}`
  return baseUrl === vendorUrl ? { authorization } : { authorization, 'x-api-key': apiKey }
}
