/**
 * Anthropic's Messages API, and every server that speaks it.
 */
import type { Provider } from '../provider.ts'
import { createAnthropicAggregate } from './anthropic-aggregate.ts'
import { readAnthropicAnswer, readAnthropicDelta } from './anthropic-answer.ts'
import { buildAnthropicRequest } from './anthropic-request.ts'
import { createAnthropicCall } from './anthropic-sdk.ts'
import { collectorOf } from './collector.ts'
import { faultContext, type ProviderOptions } from './options.ts'
import { streamCall } from './stream-call.ts'

export function createAnthropic(options: ProviderOptions): Provider {
  const open = createAnthropicCall(options)
  const context = faultContext(options)
  const aggregate = () => createAnthropicAggregate(options.limits.maxChars)
  return {
    name: 'anthropic',
    apiMode: 'anthropic_messages',
    baseUrl: options.baseUrl,
    buildRequest: buildAnthropicRequest,
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
    readDelta: readAnthropicDelta,
    readAnswer: readAnthropicAnswer,
  }
}
