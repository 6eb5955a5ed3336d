/**
 * OpenAI's Chat Completions, and every server that speaks them.
 */

import { createChunkCollector } from '../chunk-collector.ts'
import type { Provider } from '../provider.ts'
import { type ProviderOptions, providerErrorContext } from '../provider-options.ts'
import { streamResponse } from '../stream-response.ts'
import { createChatAggregator } from './chat-aggregator.ts'
import { buildChatRequest } from './chat-request.ts'
import { parseChatDelta, parseChatResponse } from './chat-response.ts'
import { createOpenAiTransport } from './transport.ts'

export const OPENAI_URL = 'https://api.openai.com/v1'

export function createOpenAiChatProvider(options: ProviderOptions): Provider {
  const send = createOpenAiTransport(options, '/chat/completions')
  const context = providerErrorContext(options)
  const aggregate = () => createChatAggregator(options.limits.maxChars)
  return {
    name: 'openai',
    apiMode: 'chat_completions',
    baseUrl: options.baseUrl,
    buildRequest: (input) => buildChatRequest(input, options.baseUrl === OPENAI_URL),
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
    parseDelta: parseChatDelta,
    parseResponse: parseChatResponse,
  }
}
