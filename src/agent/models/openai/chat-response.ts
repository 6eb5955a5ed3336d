/**
 * Reads chunks and finished chat completions. The demonstration speaks this format too.
 */

import { asArray, asNumber, asRecord, asString, isRecord } from '../../../lib/json.ts'
import type { ToolCall, Usage } from '../../../message/transcript.ts'
import { type JsonObject, ModelError, type ModelOutput, type TextDelta } from '../provider.ts'
import { extractProviderItems } from './chat-request.ts'

export function parseChatDelta(chunk: JsonObject): TextDelta | null {
  const delta = asRecord(asRecord(asArray(chunk['choices'])[0])['delta'])
  const text = contentText(delta['content'])
  if (text !== '') return { kind: 'text', text }
  // No standard names the field; these are the two that servers use.
  const reasoning = asString(delta['reasoning_content']) || asString(delta['reasoning'])
  return reasoning === '' ? null : { kind: 'reasoning', text: reasoning }
}

export function parseChatResponse(response: JsonObject): ModelOutput {
  const choice = asArray(response['choices'])[0]
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) {
    throw new ModelError('bad-response', 'The response holds no message; a chat completion was expected.')
  }
  const toolCalls = parseToolCalls(asArray(message['tool_calls']).filter(isRecord), asString(response['id']))
  const providerItems = extractProviderItems(message)
  return {
    text: contentText(message['content']) || asString(message['refusal']),
    toolCalls,
    usage: parseUsage(asRecord(response['usage'] ?? choice['usage'])),
    finishReason: asString(choice['finish_reason']) || (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    ...(providerItems === undefined ? {} : { providerItems }),
  }
}

/** Content is a text, or a list of parts of which some are texts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return asArray(content)
    .map((part) => (typeof part === 'string' ? part : asString(asRecord(part)['text'])))
    .join('')
}

function parseToolCalls(calls: readonly JsonObject[], responseId: string): ToolCall[] {
  const seen = new Set<string>()
  return calls.map((call, position) => {
    const fn = asRecord(call['function'])
    const args = fn['arguments']
    const given = asString(call['id'])
    // A result must find its call: ids that are missing or used twice get one made of the response and the position.
    const id = given !== '' && !seen.has(given) ? given : `call_${responseId || 'response'}_${position}`
    seen.add(id)
    return { id, name: asString(fn['name']), arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) }
  })
}

function parseUsage(usage: JsonObject): Usage {
  const details = asRecord(usage['prompt_tokens_details'])
  return {
    inputTokens: asNumber(usage['prompt_tokens']),
    outputTokens: asNumber(usage['completion_tokens']),
    // DeepSeek's own name where the standard one is missing.
    cachedInputTokens: asNumber(details['cached_tokens']) || asNumber(usage['prompt_cache_hit_tokens']),
    cacheWriteTokens: asNumber(details['cache_write_tokens']),
  }
}
