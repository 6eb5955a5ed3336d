/**
 * Builds the body of a chat completion. Pure and byte-stable: keys in one order, nothing from clock or chance.
 */

import { asArray, asRecord, asString, isRecord } from '../../../lib/json.ts'
import { type NormalizedMessage, type NormalizedToolCall, normalizeMessages } from '../normalize-messages.ts'
import type { JsonObject, ModelRequest, RequestInput } from '../provider.ts'

export function buildChatRequest(input: RequestInput, isOfficial: boolean): ModelRequest {
  const system = input.system === '' ? [] : [{ role: 'system', content: input.system.toWellFormed() }]
  const turns = normalizeMessages(input.messages, 'chat_completions')
  return {
    model: input.model,
    messages: [...system, ...turns.flatMap(toChatMessages)],
    ...(input.tools.length === 0 ? {} : { tools: input.tools.map(toChatTool) }),
    ...(input.reasoningEffort === undefined ? {} : { reasoning_effort: input.reasoningEffort }),
    ...maxTokensField(input.maxOutputTokens, isOfficial),
    stream: true,
    stream_options: { include_usage: true },
  }
}

/** OpenAI's reasoning models know only the new name; most other servers know only the old one. */
function maxTokensField(tokens: number | undefined, isOfficial: boolean): JsonObject {
  if (tokens === undefined) return {}
  return isOfficial ? { max_completion_tokens: tokens } : { max_tokens: tokens }
}

function toChatTool(tool: RequestInput['tools'][number]): JsonObject {
  return {
    type: 'function',
    function: { name: tool.name, description: tool.description, parameters: tool.parameters },
  }
}

function toChatMessages(turn: NormalizedMessage): JsonObject[] {
  switch (turn.role) {
    case 'user':
      return [{ role: 'user', content: turn.text }]
    case 'results':
      return turn.results.map((result) => ({ role: 'tool', tool_call_id: result.id, content: result.text }))
    case 'assistant': {
      if (turn.calls.length === 0) return [{ role: 'assistant', content: turn.text }]
      const kept = asRecord(turn.items[0])
      const { tool_calls: keptCalls, ...fields } = kept
      return [
        {
          role: 'assistant',
          content: turn.text === '' ? null : turn.text,
          ...fields,
          tool_calls: turn.calls.map((call) => toChatToolCall(call, keptCalls)),
        },
      ]
    }
  }
}

function toChatToolCall(call: NormalizedToolCall, keptCalls: unknown): JsonObject {
  const kept = asArray(keptCalls).find((entry) => isRecord(entry) && entry['id'] === call.id)
  return { ...asRecord(kept), id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }
}

const REASONING_FIELDS = ['reasoning_content', 'reasoning_details'] as const
const KNOWN_CALL_KEYS = new Set(['id', 'type', 'function', 'index'])

/**
 * What other vendors behind this API want to see again with the results of their tool calls: reasoning and signatures.
 * Undefined for messages without any, which is all of OpenAI's own.
 */
export function extractProviderItems(message: JsonObject): readonly JsonObject[] | undefined {
  const calls = asArray(message['tool_calls']).filter(isRecord)
  if (calls.length === 0) return undefined
  const kept: { [key: string]: unknown } = {}
  for (const field of REASONING_FIELDS) {
    const value = message[field]
    if (value !== undefined && value !== null && value !== '') kept[field] = value
  }
  const marked = calls.flatMap((call) => {
    const extra = Object.entries(call).filter(([key, value]) => !KNOWN_CALL_KEYS.has(key) && value !== null)
    return extra.length === 0 ? [] : [{ id: asString(call['id']), ...Object.fromEntries(extra) }]
  })
  if (marked.length > 0) kept['tool_calls'] = marked
  return Object.keys(kept).length === 0 ? undefined : [kept]
}
