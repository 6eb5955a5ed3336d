/**
 * OpenAI's Chat Completions, and every server that speaks them.
 */
import type { Provider } from '../provider.ts'
import { createChatAggregate } from './chat-aggregate.ts'
import { readChatAnswer, readChatDelta } from './chat-answer.ts'
import { buildChatRequest } from './chat-request.ts'
import { collectorOf } from './collector.ts'
import { createOpenAiCall } from './openai-sdk.ts'
import { faultContext, type ProviderOptions } from './options.ts'
import { streamCall } from './stream-call.ts'

export const OPENAI_URL = 'https://api.openai.com/v1'

export function createOpenAiChat(options: ProviderOptions): Provider {
  const open = createOpenAiCall(options, '/chat/completions')
  const context = faultContext(options)
  const aggregate = () => createChatAggregate(options.limits.maxChars)
  return {
    name: 'openai',
    apiMode: 'chat_completions',
    baseUrl: options.baseUrl,
    buildRequest: (input) => buildChatRequest(input, options.baseUrl === OPENAI_URL),
    stream: (request, signal) =>
      streamCall({
        open,
        request,
        signal,
        limits: options.limits,
        aggregate: aggregate(),
        context,
      }),
    collector: () => collectorOf(aggregate()),
    readDelta: readChatDelta,
    readAnswer: readChatAnswer,
  }
}
