/**
 * Reads the events and the final response of OpenAI's Responses API.
 */
import type { ToolCall, Usage } from '../../message/transcript.ts'
import { type Delta, type JsonObject, type ModelAnswer, ModelError } from '../provider.ts'
import { problemOf, readFault } from './fault.ts'
import { isRecord, list, num, record, str } from './json.ts'
import { outputText } from './responses-request.ts'
import type { Aggregate } from './stream-call.ts'
import { createTextBudget } from './text-budget.ts'

const TEXT_EVENTS = new Set(['response.output_text.delta', 'response.refusal.delta'])
const REASONING_EVENTS = new Set(['response.reasoning_summary_text.delta', 'response.reasoning_text.delta'])

export function readResponsesDelta(chunk: JsonObject): Delta | null {
  const type = str(chunk['type'])
  const text = str(chunk['delta'])
  if (text === '') return null
  if (TEXT_EVENTS.has(type)) return { kind: 'text', text }
  return REASONING_EVENTS.has(type) ? { kind: 'reasoning', text } : null
}

/** The last event carries the whole response; only its size on the way there has to be watched. */
export function createResponsesAggregate(maxChars: number): Aggregate {
  const spend = createTextBudget(maxChars)
  const items = new Map<number, unknown>()
  let final: JsonObject | null = null
  return {
    add(chunk) {
      const { type, delta, response } = chunk
      if (typeof type !== 'string') throw new ModelError('bad-response', 'The model sent an event without a type.')
      spend(str(delta).length)
      if (type === 'response.output_item.done') items.set(num(chunk['output_index']), chunk['item'])
      if (type !== 'response.completed' && type !== 'response.incomplete') return
      if (!isRecord(response))
        throw new ModelError('bad-response', 'The model sent its final event without a response.')
      // Some servers leave the output of the final event empty and count on the items sent before.
      const output = list(response['output']).length > 0 ? response['output'] : inOrder(items)
      final = { ...response, output }
    },
    mark: () => undefined,
    get isDone() {
      return final !== null
    },
    result: () => final,
  }
}

function inOrder(items: ReadonlyMap<number, unknown>): readonly unknown[] {
  return [...items.entries()].sort(([a], [b]) => a - b).map(([, item]) => item)
}

export function readResponsesAnswer(response: JsonObject): ModelAnswer {
  const { output, status } = response
  if (status === 'failed') {
    const fault = readFault(response)
    throw new ModelError(problemOf(fault), `The model reported an error: ${fault.message || fault.code}`)
  }
  if (!Array.isArray(output)) {
    throw new ModelError('bad-response', 'The response holds no output; a response of the Responses API was expected.')
  }
  const items = list(output).filter(isRecord)
  const toolCalls = readCalls(items, str(response['id']))
  return {
    text: outputText(items),
    toolCalls,
    usage: readUsage(record(response['usage'])),
    finishReason: finishReason(response, toolCalls.length > 0),
    ...(items.some(isWorthKeeping) ? { providerItems: items } : {}),
  }
}

/** Plain texts and calls can be built again from the transcript; reasoning and the phase of a message cannot. */
function isWorthKeeping(item: JsonObject): boolean {
  if (item['type'] === 'message') return str(item['phase']) !== ''
  return item['type'] !== 'function_call'
}

function readCalls(items: readonly JsonObject[], responseId: string): ToolCall[] {
  return items
    .filter((item) => item['type'] === 'function_call')
    .map((item, position) => ({
      id: str(item['call_id']) || str(item['id']) || `call_${responseId || 'response'}_${position}`,
      name: str(item['name']),
      arguments: str(item['arguments']),
    }))
}

function finishReason(response: JsonObject, hasCalls: boolean): string {
  const reason = str(record(response['incomplete_details'])['reason'])
  if (response['status'] === 'incomplete' || reason !== '') {
    return reason === 'max_output_tokens' ? 'length' : reason || 'length'
  }
  return hasCalls ? 'tool_calls' : 'stop'
}

function readUsage(usage: JsonObject): Usage {
  return {
    inputTokens: num(usage['input_tokens']),
    outputTokens: num(usage['output_tokens']),
    cachedInputTokens: num(record(usage['input_tokens_details'])['cached_tokens']),
    cacheWriteTokens: num(record(usage['input_tokens_details'])['cache_write_tokens']),
  }
}
