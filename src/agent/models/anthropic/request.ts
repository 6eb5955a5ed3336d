/**
 * Builds the body of Anthropic's Messages API, with the cache breakpoints `system_and_3` of contract §4.4: the system
 * prompt and the last three messages. Pure and byte-stable up to the markers, which move with the conversation's end.
 */

import { asRecord, asString, isRecord } from '../../../lib/json.ts'
import { type NormalizedMessage, normalizeMessages } from '../normalize-messages.ts'
import type { JsonObject, ModelRequest, RequestInput } from '../provider.ts'
import { buildReasoningSettings } from './reasoning.ts'

const DEFAULT_MAX_TOKENS = 8192
const CACHED_MESSAGES = 3
/** Anthropic refuses a text without a visible character. */
const EMPTY_TEXT = '(no text)'

type Role = 'user' | 'assistant'
interface AnthropicMessage {
  readonly role: Role
  readonly content: readonly JsonObject[]
}

export function buildAnthropicRequest(input: RequestInput): ModelRequest {
  const ordered = normalizeMessages(input.messages, 'anthropic_messages')
  // Calls in the history without any tool in the request are refused: then they are told in words.
  const turns = input.tools.length === 0 ? ordered.map(toolCallsAsText) : ordered
  const messages = mergeSameRole(turns.map(toAnthropicMessage))
  const maxTokens = input.maxOutputTokens ?? DEFAULT_MAX_TOKENS
  const reasoning = buildReasoningSettings(input.model, input.reasoningEffort, maxTokens, canUseThinking(messages))
  return {
    model: input.model,
    max_tokens: reasoning.maxTokens,
    ...(input.system.trim() === ''
      ? {}
      : { system: [withCacheControl({ type: 'text', text: input.system.toWellFormed() })] }),
    messages: withCacheBreakpoints(messages),
    ...(input.tools.length === 0 ? {} : { tools: input.tools.map(toAnthropicTool) }),
    ...reasoning.fields,
    stream: true,
  }
}

function toAnthropicTool(tool: RequestInput['tools'][number]): JsonObject {
  return { name: tool.name, description: tool.description, input_schema: tool.parameters }
}

function toAnthropicMessage(turn: NormalizedMessage): AnthropicMessage {
  switch (turn.role) {
    case 'user':
      return { role: 'user', content: [textBlock(turn.text)] }
    case 'results':
      return {
        role: 'user',
        content: turn.results.map((result) => ({
          type: 'tool_result',
          tool_use_id: sanitizeId(result.id),
          content: result.text,
        })),
      }
    case 'assistant':
      return { role: 'assistant', content: assistantBlocks(turn) }
  }
}

function assistantBlocks(turn: Extract<NormalizedMessage, { role: 'assistant' }>): JsonObject[] {
  const uses = turn.calls.map((call) => ({
    type: 'tool_use',
    id: sanitizeId(call.id),
    name: call.name,
    input: call.input,
  }))
  const items = turn.items.filter(isRecord)
  if (!matchesTranscript(items, turn)) return turn.text.trim() === '' ? uses : [textBlock(turn.text), ...uses]
  // The very blocks of the vendor, in their order: signatures cover them. Only an input that was no object is mended.
  let next = 0
  return items.map((item) => {
    if (item['type'] !== 'tool_use') return item
    const use = uses[next]
    next += 1
    return isRecord(item['input']) || use === undefined ? item : { ...item, input: use.input }
  })
}

/** Whether the vendor's own blocks still tell what the transcript tells (a text may have been changed after the answer). */
function matchesTranscript(
  items: readonly JsonObject[],
  turn: Extract<NormalizedMessage, { role: 'assistant' }>,
): boolean {
  if (items.length === 0) return false
  const uses = items.filter((item) => item['type'] === 'tool_use')
  const sameCalls =
    uses.length === turn.calls.length &&
    turn.calls.every((call, at) => uses[at]?.['id'] === call.id && uses[at]['name'] === call.name)
  const texts = items.filter((item) => item['type'] === 'text').map((item) => asString(item['text']))
  return sameCalls && texts.join('').trim() === turn.text.trim()
}

function toolCallsAsText(turn: NormalizedMessage): NormalizedMessage {
  if (turn.role === 'results') {
    return {
      role: 'user',
      text: turn.results.map((result) => `[Result of ${result.name}]\n${result.text}`).join('\n\n'),
    }
  }
  if (turn.role === 'user' || turn.calls.length === 0) return turn
  const calls = turn.calls.map((call) => `[Called ${call.name} with ${call.arguments}]`)
  return {
    role: 'assistant',
    text: [turn.text, ...calls].filter((part) => part !== '').join('\n\n'),
    calls: [],
    items: [],
  }
}

/** Tool results and what the user says after them are one message here. The first message must be the user's. */
function mergeSameRole(messages: readonly AnthropicMessage[]): AnthropicMessage[] {
  const result: AnthropicMessage[] =
    messages[0]?.role === 'user' ? [] : [{ role: 'user', content: [textBlock(EMPTY_TEXT)] }]
  for (const message of messages) {
    const last = result.at(-1)
    if (last?.role === message.role) {
      result[result.length - 1] = { role: last.role, content: [...last.content, ...message.content] }
    } else {
      result.push(message)
    }
  }
  return result
}

/**
 * Manual thinking demands that an unfinished round of tools starts with the model's own thinking. Where that is lost
 * (the round was begun by another vendor), thinking has to wait for the next message of the user.
 */
function canUseThinking(messages: readonly AnthropicMessage[]): boolean {
  const last = messages.at(-1)
  if (last?.content.every((block) => block['type'] !== 'tool_result')) return true
  const asked = messages.at(-2)
  return asked?.content.some((block) => block['type'] === 'thinking' || block['type'] === 'redacted_thinking') ?? true
}

function withCacheBreakpoints(messages: readonly AnthropicMessage[]): AnthropicMessage[] {
  const first = messages.length - CACHED_MESSAGES
  return messages.map((message, position) => (position < first ? message : withCacheBreakpoint(message)))
}

/** Marks the last block that may carry a mark: thinking may not, and its bytes are signed. */
function withCacheBreakpoint(message: AnthropicMessage): AnthropicMessage {
  const at = message.content.findLastIndex((block) => !asString(block['type']).endsWith('thinking'))
  return {
    ...message,
    content: message.content.map((block, position) => (position === at ? withCacheControl(block) : block)),
  }
}

function withCacheControl(block: JsonObject): JsonObject {
  return { ...asRecord(block), cache_control: { type: 'ephemeral' } }
}

function textBlock(value: string): JsonObject {
  return { type: 'text', text: value.trim() === '' ? EMPTY_TEXT : value }
}

/** Ids of other vendors may hold characters that Anthropic refuses. */
function sanitizeId(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}
