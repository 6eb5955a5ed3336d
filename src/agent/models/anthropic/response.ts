/**
 * Reads the events and the final message of Anthropic's Messages API.
 */

import { asNumber, asRecord, asString, isRecord } from '../../../lib/json.ts'
import type { ToolCall, Usage } from '../../../message/transcript.ts'
import { type JsonObject, ModelError, type ModelOutput, type TextDelta } from '../provider.ts'

export function parseAnthropicDelta(chunk: JsonObject): TextDelta | null {
  if (chunk['type'] !== 'content_block_delta') return null
  const delta = asRecord(chunk['delta'])
  const text = asString(delta['text'])
  if (text !== '') return { kind: 'text', text }
  const thinking = asString(delta['thinking'])
  return thinking === '' ? null : { kind: 'reasoning', text: thinking }
}

export function parseAnthropicResponse(response: JsonObject): ModelOutput {
  const { content } = response
  if (!Array.isArray(content)) {
    throw new ModelError('bad-response', 'The response holds no content; a message of the Messages API was expected.')
  }
  const blocks = content.filter(isRecord)
  return {
    text: blocks
      .filter((block) => block['type'] === 'text')
      .map((block) => asString(block['text']))
      .join(''),
    toolCalls: blocks.filter((block) => block['type'] === 'tool_use').map(parseToolCall),
    usage: parseUsage(asRecord(response['usage'])),
    finishReason: toFinishReason(response),
    // Texts and calls can be built again from the transcript; signed thinking cannot.
    ...(blocks.some((block) => !REBUILDABLE_BLOCK_TYPES.has(asString(block['type']))) ? { providerItems: blocks } : {}),
  }
}

const REBUILDABLE_BLOCK_TYPES = new Set(['text', 'tool_use'])

function parseToolCall(block: JsonObject, position: number): ToolCall {
  const { input } = block
  return {
    id: asString(block['id']) || `toolu_${position}`,
    name: asString(block['name']),
    arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
  }
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

function toFinishReason(response: JsonObject): string {
  const reason = asString(response['stop_reason'])
  return FINISH_REASONS[reason] ?? (reason || 'stop')
}

/** Anthropic counts cached tokens beside the input; everywhere else they are part of it, so here they are added. */
function parseUsage(usage: JsonObject): Usage {
  const cached = asNumber(usage['cache_read_input_tokens'])
  const written = asNumber(usage['cache_creation_input_tokens'])
  return {
    inputTokens: asNumber(usage['input_tokens']) + cached + written,
    outputTokens: asNumber(usage['output_tokens']),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
  }
}
