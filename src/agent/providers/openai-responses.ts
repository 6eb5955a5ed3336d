/**
 * OpenAI's Responses API (the api mode `codex_responses`).
 */
import type { Provider } from '../provider.ts'
import { collectorOf } from './collector.ts'
import { createOpenAiCall } from './openai-sdk.ts'
import { faultContext, type ProviderOptions } from './options.ts'
import { createResponsesAggregate, readResponsesAnswer, readResponsesDelta } from './responses-answer.ts'
import { buildResponsesRequest } from './responses-request.ts'
import { streamCall } from './stream-call.ts'

export function createOpenAiResponses(options: ProviderOptions): Provider {
  const open = createOpenAiCall(options, '/responses')
  const context = faultContext(options)
  const aggregate = () => createResponsesAggregate(options.limits.maxChars)
  return {
    name: 'openai-responses',
    apiMode: 'codex_responses',
    baseUrl: options.baseUrl,
    buildRequest: buildResponsesRequest,
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
    readDelta: readResponsesDelta,
    readAnswer: readResponsesAnswer,
  }
}
