/**
 * Builds the request body of Anthropic's Messages API. The cache breakpoints are `system_and_3` of contract §4.4: the
 * system prompt and the last three messages. Pure and byte-stable, except for the breakpoints, which move with the end
 * of the conversation.
 */

import type { JsonObject } from '../../../lib/json.ts'
import { asRecord, asString, isRecord } from '../../../lib/json.ts'
import type { ImagePart } from '../../../message/transcript.ts'
import type { ModelRequest } from '../../support/model-request.ts'
import {
  type NormalizedAssistantMessage,
  type NormalizedMessage,
  normalizeMessages,
  pictureAddress,
} from '../normalize-messages.ts'
import type { RequestInput } from '../provider.ts'

const DEFAULT_MAX_TOKENS = 8192
const CACHED_MESSAGES = 3
/** The API rejects a text without a visible character. */
const EMPTY_TEXT = '(no text)'

type Role = 'user' | 'assistant'
interface AnthropicMessage {
  readonly role: Role
  readonly content: readonly JsonObject[]
}

export function buildAnthropicRequest(input: RequestInput): ModelRequest {
  const normalized = normalizeMessages(input.messages, 'anthropic_messages', input.showsPictures)
  // The API rejects calls in the history when the request has no tools, so the calls become text.
  const readable = input.tools.length === 0 ? normalized.map(toolCallsAsText) : normalized
  const messages = mergeSameRole(readable.map(toAnthropicMessage))
  const maxTokens = input.maxOutputTokens ?? DEFAULT_MAX_TOKENS
  const reasoning = buildReasoningSettings(input, maxTokens, canUseThinking(messages))
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

function toAnthropicMessage(message: NormalizedMessage): AnthropicMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: (message.parts ?? message.texts).map(contentBlock) }
    case 'results':
      return {
        role: 'user',
        content: message.results.map((result) => ({
          type: 'tool_result',
          tool_use_id: sanitizeId(result.id),
          content: result.images === undefined ? result.text : [result.text, ...result.images].map(contentBlock),
        })),
      }
    case 'assistant':
      return { role: 'assistant', content: assistantBlocks(message) }
  }
}

function assistantBlocks(message: NormalizedAssistantMessage): JsonObject[] {
  const uses = message.calls.map((call) => ({
    type: 'tool_use',
    id: sanitizeId(call.id),
    name: call.name,
    input: call.input,
  }))
  const items = message.items.filter(isRecord)
  if (!matchesTranscript(items, message)) return [...visibleTexts(message).map(textBlock), ...uses]
  // Signatures cover the vendor's own blocks and their order. Only an input that is not an object is replaced.
  let next = 0
  return items.map((item) => {
    if (item['type'] !== 'tool_use') return item
    const use = uses[next]
    next += 1
    return isRecord(item['input']) || use === undefined ? item : { ...item, input: use.input }
  })
}

/** Whether the vendor's own blocks still have the content of the transcript. A plugin may have changed the text. */
function matchesTranscript(items: readonly JsonObject[], message: NormalizedAssistantMessage): boolean {
  if (items.length === 0) return false
  const uses = items.filter((item) => item['type'] === 'tool_use')
  const hasSameCalls =
    uses.length === message.calls.length &&
    message.calls.every((call, at) => uses[at]?.['id'] === call.id && uses[at]['name'] === call.name)
  const texts = items.filter((item) => item['type'] === 'text').map((item) => asString(item['text']))
  return hasSameCalls && texts.join('').trim() === message.texts.join('').trim()
}

function visibleTexts({ texts }: NormalizedAssistantMessage): string[] {
  return texts.filter((text) => text.trim() !== '')
}

function toolCallsAsText(message: NormalizedMessage): NormalizedMessage {
  if (message.role === 'results') {
    const texts = message.results.map((result) => `[Result of ${result.name}]\n${result.text}`)
    const images = message.results.flatMap((result) => result.images ?? [])
    return { role: 'user', texts, ...(images.length === 0 ? {} : { parts: [...texts, ...images] }) }
  }
  if (message.role === 'user' || message.calls.length === 0) return message
  const calls = message.calls.map((call) => `[Called ${call.name} with ${call.arguments}]`)
  return {
    role: 'assistant',
    texts: [...message.texts, ...calls],
    calls: [],
    items: [],
  }
}

/** The API expects tool results and the user's text after them in one message, and a first message of the user. */
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
 * With manual thinking, an assistant message whose tool results end the request must start with the model's thinking.
 * Without that block (another vendor made the message), thinking stays off until the next message of the user.
 */
function canUseThinking(messages: readonly AnthropicMessage[]): boolean {
  const last = messages.at(-1)
  if (last?.content.every((block) => block['type'] !== 'tool_result')) return true
  const caller = messages.at(-2)
  return caller?.content.some((block) => block['type'] === 'thinking' || block['type'] === 'redacted_thinking') ?? true
}

function withCacheBreakpoints(messages: readonly AnthropicMessage[]): AnthropicMessage[] {
  const first = messages.length - CACHED_MESSAGES
  return messages.map((message, position) => (position < first ? message : withCacheBreakpoint(message)))
}

/** Marks the last block that is not thinking: the bytes of thinking are signed. */
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

function contentBlock(part: string | ImagePart): JsonObject {
  return typeof part === 'string'
    ? textBlock(part)
    : { type: 'image', source: { type: 'url', url: pictureAddress(part) } }
}

function textBlock(value: string): JsonObject {
  return { type: 'text', text: value.trim() === '' ? EMPTY_TEXT : value }
}

/** Ids of other vendors may contain characters that Anthropic rejects. */
function sanitizeId(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}

// Reasoning. Models up to 4.5 take a budget of tokens, later ones an effort level. Each kind rejects the setting of the
// other one with status 400.

type Effort = NonNullable<RequestInput['reasoningEffort']>

const THINKING_BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 4096,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
}

/** Names up to 4.5: `claude-3-…`, `claude-sonnet-4-20250514`, `claude-opus-4-1`, `claude-haiku-4-5-20251001`. */
const MANUAL_THINKING_MODELS = /claude-(?:instant|[123]\b|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:$|-\d{8}|-latest|@|:))/
const FIRST_ADAPTIVE_MODELS = /claude-(?:opus|sonnet)-4-6/
const DEFAULT_THINKING_MODELS = /claude-(?!(?:opus|sonnet|haiku)-4)/

/** Models from 4.7 on send their thinking only on demand. */
function hidesThinking(model: string): boolean {
  return !MANUAL_THINKING_MODELS.test(model) && !FIRST_ADAPTIVE_MODELS.test(model)
}
const summarized = { display: 'summarized' } as const

/**
 * The request fields for an effort. "none" is never sent as `disabled`, which some models reject: thinking is omitted,
 * and models that think by default get a low effort.
 * @param canUseThinking false omits manual thinking from this request
 */
function buildReasoningSettings(
  { model, reasoningEffort: effort, showsReasoning }: RequestInput,
  maxTokens: number,
  canUseThinking: boolean,
) {
  const thinking = { type: 'adaptive', ...(showsReasoning === true && hidesThinking(model) ? summarized : {}) }
  if (effort === undefined) {
    const thinksAnyway = DEFAULT_THINKING_MODELS.test(model) && showsReasoning === true
    return { fields: thinksAnyway ? { thinking } : {}, maxTokens }
  }
  if (MANUAL_THINKING_MODELS.test(model)) {
    if (effort === 'none' || !canUseThinking) return { fields: {}, maxTokens }
    const budget = THINKING_BUDGETS[effort]
    // The budget counts towards the limit, so the limit grows by the budget.
    return { fields: { thinking: { type: 'enabled', budget_tokens: budget } }, maxTokens: maxTokens + budget }
  }
  if (effort === 'none') {
    return { fields: DEFAULT_THINKING_MODELS.test(model) ? { output_config: { effort: 'low' } } : {}, maxTokens }
  }
  return {
    fields: { thinking, output_config: { effort: toAdaptiveEffort(model, effort) } },
    maxTokens,
  }
}

function toAdaptiveEffort(model: string, effort: Exclude<Effort, 'none'>): string {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && FIRST_ADAPTIVE_MODELS.test(model) ? 'high' : effort
}
