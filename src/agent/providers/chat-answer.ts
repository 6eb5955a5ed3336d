/**
 * Reads chunks and finished chat completions. The demonstration speaks this format too.
 */
import type { ToolCall, Usage } from '../../message/transcript.ts'
import { type Delta, type JsonObject, type ModelAnswer, ModelError } from '../provider.ts'
import { keptChatItems } from './chat-request.ts'
import { isRecord, list, num, record, str } from './json.ts'

export function readChatDelta(chunk: JsonObject): Delta | null {
  const delta = record(record(list(chunk['choices'])[0])['delta'])
  const text = textOf(delta['content'])
  if (text !== '') return { kind: 'text', text }
  // No standard names the field; these are the two that servers use.
  const reasoning = str(delta['reasoning_content']) || str(delta['reasoning'])
  return reasoning === '' ? null : { kind: 'reasoning', text: reasoning }
}

export function readChatAnswer(response: JsonObject): ModelAnswer {
  const choice = list(response['choices'])[0]
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) {
    throw new ModelError('bad-response', 'The response holds no message; a chat completion was expected.')
  }
  const toolCalls = readCalls(list(message['tool_calls']).filter(isRecord), str(response['id']))
  const providerItems = keptChatItems(message)
  return {
    text: textOf(message['content']) || str(message['refusal']),
    toolCalls,
    usage: readUsage(record(response['usage'] ?? choice['usage'])),
    finishReason: str(choice['finish_reason']) || (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    ...(providerItems === undefined ? {} : { providerItems }),
  }
}

/** Content is a text, or a list of parts of which some are texts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map((part) => (typeof part === 'string' ? part : str(record(part)['text'])))
    .join('')
}

function readCalls(calls: readonly JsonObject[], responseId: string): ToolCall[] {
  const seen = new Set<string>()
  return calls.map((call, position) => {
    const fn = record(call['function'])
    const args = fn['arguments']
    const given = str(call['id'])
    // A result must find its call: ids that are missing or used twice get one made of the response and the position.
    const id = given !== '' && !seen.has(given) ? given : `call_${responseId || 'response'}_${position}`
    seen.add(id)
    return { id, name: str(fn['name']), arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) }
  })
}

function readUsage(usage: JsonObject): Usage {
  const details = record(usage['prompt_tokens_details'])
  return {
    inputTokens: num(usage['prompt_tokens']),
    outputTokens: num(usage['completion_tokens']),
    // DeepSeek's own name where the standard one is missing.
    cachedInputTokens: num(details['cached_tokens']) || num(usage['prompt_cache_hit_tokens']),
    cacheWriteTokens: num(details['cache_write_tokens']),
  }
}
