/**
 * Reads the events and the final response of OpenAI's Responses API.
 */

import { asArray, asNumber, asRecord, asString, isRecord } from '../../../lib/json.ts'
import type { ToolCall, Usage } from '../../../message/transcript.ts'
import { classifyFailure, parseProviderFailure } from '../map-provider-error.ts'
import { type JsonObject, ModelError, type ModelOutput, type TextDelta } from '../provider.ts'
import { createResponseSizeLimit } from '../response-size-limit.ts'
import type { ResponseAggregator } from '../stream-response.ts'
import { outputText } from './responses-request.ts'

const TEXT_EVENTS = new Set(['response.output_text.delta', 'response.refusal.delta'])
const REASONING_EVENTS = new Set(['response.reasoning_summary_text.delta', 'response.reasoning_text.delta'])

export function parseResponsesDelta(chunk: JsonObject): TextDelta | null {
  const type = asString(chunk['type'])
  const text = asString(chunk['delta'])
  if (text === '') return null
  if (TEXT_EVENTS.has(type)) return { kind: 'text', text }
  return REASONING_EVENTS.has(type) ? { kind: 'reasoning', text } : null
}

/** The last event carries the whole response; only its size on the way there has to be watched. */
export function createResponsesAggregator(maxChars: number): ResponseAggregator {
  const spend = createResponseSizeLimit(maxChars)
  const items = new Map<number, unknown>()
  let final: JsonObject | null = null
  return {
    add(chunk) {
      const { type, delta, response } = chunk
      if (typeof type !== 'string') throw new ModelError('bad-response', 'The model sent an event without a type.')
      spend(asString(delta).length)
      if (type === 'response.output_item.done') items.set(asNumber(chunk['output_index']), chunk['item'])
      if (type !== 'response.completed' && type !== 'response.incomplete') return
      if (!isRecord(response))
        throw new ModelError('bad-response', 'The model sent its final event without a response.')
      // Some servers leave the output of the final event empty and count on the items sent before.
      const output = asArray(response['output']).length > 0 ? response['output'] : sortByIndex(items)
      final = { ...response, output }
    },
    markDone: () => undefined,
    get isDone() {
      return final !== null
    },
    result: () => final,
  }
}

function sortByIndex(items: ReadonlyMap<number, unknown>): readonly unknown[] {
  return [...items.entries()].sort(([a], [b]) => a - b).map(([, item]) => item)
}

export function parseResponsesResponse(response: JsonObject): ModelOutput {
  const { output, status } = response
  if (status === 'failed') {
    const fault = parseProviderFailure(response)
    throw new ModelError(classifyFailure(fault), `The model reported an error: ${fault.message || fault.code}`)
  }
  if (!Array.isArray(output)) {
    throw new ModelError('bad-response', 'The response holds no output; a response of the Responses API was expected.')
  }
  const items = asArray(output).filter(isRecord)
  const toolCalls = parseToolCalls(items, asString(response['id']))
  return {
    text: outputText(items),
    toolCalls,
    usage: parseUsage(asRecord(response['usage'])),
    finishReason: toFinishReason(response, toolCalls.length > 0),
    ...(items.some(cannotBeRebuilt) ? { providerItems: items } : {}),
  }
}

/** Plain texts and calls can be built again from the transcript; reasoning and the phase of a message cannot. */
function cannotBeRebuilt(item: JsonObject): boolean {
  if (item['type'] === 'message') return asString(item['phase']) !== ''
  return item['type'] !== 'function_call'
}

function parseToolCalls(items: readonly JsonObject[], responseId: string): ToolCall[] {
  return items
    .filter((item) => item['type'] === 'function_call')
    .map((item, position) => ({
      id: asString(item['call_id']) || asString(item['id']) || `call_${responseId || 'response'}_${position}`,
      name: asString(item['name']),
      arguments: asString(item['arguments']),
    }))
}

function toFinishReason(response: JsonObject, hasCalls: boolean): string {
  const reason = asString(asRecord(response['incomplete_details'])['reason'])
  if (response['status'] === 'incomplete' || reason !== '') {
    return reason === 'max_output_tokens' ? 'length' : reason || 'length'
  }
  return hasCalls ? 'tool_calls' : 'stop'
}

function parseUsage(usage: JsonObject): Usage {
  return {
    inputTokens: asNumber(usage['input_tokens']),
    outputTokens: asNumber(usage['output_tokens']),
    cachedInputTokens: asNumber(asRecord(usage['input_tokens_details'])['cached_tokens']),
    cacheWriteTokens: asNumber(asRecord(usage['input_tokens_details'])['cache_write_tokens']),
  }
}
