/**
 * OpenAI's Responses API (the api mode `codex_responses`).
 */

import { createChunkCollector } from '../chunk-collector.ts'
import type { Provider } from '../provider.ts'
import { type ProviderOptions, providerErrorContext } from '../provider-options.ts'
import { streamResponse } from '../stream-response.ts'
import { buildResponsesRequest } from './responses-request.ts'
import { createResponsesAggregator, parseResponsesDelta, parseResponsesResponse } from './responses-response.ts'
import { createOpenAiTransport } from './transport.ts'

export function createOpenAiResponsesProvider(options: ProviderOptions): Provider {
  const send = createOpenAiTransport(options, '/responses')
  const context = providerErrorContext(options)
  const aggregate = () => createResponsesAggregator(options.limits.maxChars)
  return {
    name: 'openai-responses',
    apiMode: 'codex_responses',
    baseUrl: options.baseUrl,
    buildRequest: buildResponsesRequest,
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
    parseDelta: parseResponsesDelta,
    parseResponse: parseResponsesResponse,
  }
}
