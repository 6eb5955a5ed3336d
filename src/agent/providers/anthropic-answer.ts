/**
 * Reads the events and the final message of Anthropic's Messages API.
 */
import type { ToolCall, Usage } from '../../message/transcript.ts'
import { type Delta, type JsonObject, type ModelAnswer, ModelError } from '../provider.ts'
import { isRecord, num, record, str } from './json.ts'

export function readAnthropicDelta(chunk: JsonObject): Delta | null {
  if (chunk['type'] !== 'content_block_delta') return null
  const delta = record(chunk['delta'])
  const text = str(delta['text'])
  if (text !== '') return { kind: 'text', text }
  const thinking = str(delta['thinking'])
  return thinking === '' ? null : { kind: 'reasoning', text: thinking }
}

export function readAnthropicAnswer(response: JsonObject): ModelAnswer {
  const { content } = response
  if (!Array.isArray(content)) {
    throw new ModelError('bad-response', 'The response holds no content; a message of the Messages API was expected.')
  }
  const blocks = content.filter(isRecord)
  return {
    text: blocks
      .filter((block) => block['type'] === 'text')
      .map((block) => str(block['text']))
      .join(''),
    toolCalls: blocks.filter((block) => block['type'] === 'tool_use').map(readCall),
    usage: readUsage(record(response['usage'])),
    finishReason: finishReason(response),
    // Texts and calls can be built again from the transcript; signed thinking cannot.
    ...(blocks.some((block) => !REBUILT.has(str(block['type']))) ? { providerItems: blocks } : {}),
  }
}

const REBUILT = new Set(['text', 'tool_use'])

function readCall(block: JsonObject, position: number): ToolCall {
  const { input } = block
  return {
    id: str(block['id']) || `toolu_${position}`,
    name: str(block['name']),
    arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
  }
}

const REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

function finishReason(response: JsonObject): string {
  const reason = str(response['stop_reason'])
  return REASONS[reason] ?? (reason || 'stop')
}

/** Anthropic counts cached tokens beside the input; everywhere else they are part of it, so here they are added. */
function readUsage(usage: JsonObject): Usage {
  const cached = num(usage['cache_read_input_tokens'])
  const written = num(usage['cache_creation_input_tokens'])
  return {
    inputTokens: num(usage['input_tokens']) + cached + written,
    outputTokens: num(usage['output_tokens']),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
  }
}
