/**
 * Anthropic's Messages API, and every server that speaks it.
 */

import { createChunkCollector } from '../chunk-collector.ts'
import type { Provider } from '../provider.ts'
import { type ProviderOptions, providerErrorContext } from '../provider-options.ts'
import { streamResponse } from '../stream-response.ts'
import { createAnthropicAggregator } from './aggregator.ts'
import { buildAnthropicRequest } from './request.ts'
import { parseAnthropicDelta, parseAnthropicResponse } from './response.ts'
import { createAnthropicTransport } from './transport.ts'

export function createAnthropicProvider(options: ProviderOptions): Provider {
  const send = createAnthropicTransport(options)
  const context = providerErrorContext(options)
  const aggregate = () => createAnthropicAggregator(options.limits.maxChars)
  return {
    name: 'anthropic',
    apiMode: 'anthropic_messages',
    baseUrl: options.baseUrl,
    buildRequest: buildAnthropicRequest,
    stream: (request, signal) =>
      streamResponse({
        send,
        request,
        signal,
        limits: options.limits,
        aggregator: aggregate(),
        context,
      }),
    createCollector: () => createChunkCollector(aggregate()),
    parseDelta: parseAnthropicDelta,
    parseResponse: parseAnthropicResponse,
  }
}
