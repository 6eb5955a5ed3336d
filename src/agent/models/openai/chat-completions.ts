/**
 * The wire format of OpenAI's Chat Completions, which most other servers and the demonstration use too.
 */

import type { JsonObject } from '../../../lib/json.ts'
import { asArray, asRecord, asString, isRecord } from '../../../lib/json.ts'
import { type ImagePart, noUsage, type ToolCall } from '../../../message/transcript.ts'
import type { ModelRequest } from '../../support/model-request.ts'
import type { ProviderQuirks } from '../catalogue.ts'
import {
  joinSeparateTexts,
  type NormalizedMessage,
  type NormalizedToolCall,
  normalizeMessages,
  pictureAddress,
} from '../normalize-messages.ts'
import { ModelError, type ModelOutput, type RequestInput, type TextDelta } from '../provider.ts'
import {
  type CountChars,
  createResponseSizeLimit,
  extractUsage,
  hasOutput,
  isIndex,
  type MutableJsonObject,
  mergeDelta,
  valuesByIndex,
} from '../response-json.ts'
import type { ResponseAggregator, WireFormat } from '../wire-format.ts'

export function createChatFormat(quirks: ProviderQuirks): WireFormat {
  return {
    apiMode: 'chat_completions',
    buildRequest: (input) => buildChatRequest(input, quirks),
    createAggregator: createChatAggregator,
    isProgress: isChatProgress,
    parseDelta: parseChatDelta,
    parseResponse: (response) => parseChatResponse(response, quirks),
  }
}

// Request. Pure and byte-stable: the keys have a fixed order, and nothing depends on the clock or on chance.

function buildChatRequest(input: RequestInput, quirks: ProviderQuirks): ModelRequest {
  const system = input.system === '' ? [] : [{ role: 'system', content: input.system.toWellFormed() }]
  const messages = normalizeMessages(input.messages, 'chat_completions', input.showsPictures)
  return {
    model: input.model,
    messages: [...system, ...messages.flatMap((message) => toChatMessages(message, quirks))],
    ...(input.tools.length === 0 ? {} : { tools: input.tools.map(toChatTool) }),
    ...reasoningFields(input.reasoningEffort, quirks),
    ...maxTokensField(input.maxOutputTokens, quirks),
    stream: true,
    stream_options: { include_usage: true },
  }
}

/** OpenAI's reasoning models accept only the new name; most other servers accept only the old one. */
function maxTokensField(tokens: number | undefined, { maxTokensField = 'max_tokens' }: ProviderQuirks): JsonObject {
  return tokens === undefined ? {} : { [maxTokensField]: tokens }
}

function reasoningFields(
  effort: RequestInput['reasoningEffort'],
  { reasoning = 'effort' }: ProviderQuirks,
): JsonObject {
  if (effort === undefined || reasoning === 'none') return {}
  if (reasoning === 'object') return { reasoning: { effort } }
  if (reasoning === 'effort') return { reasoning_effort: effort }
  const thinking = { type: effort === 'none' ? 'disabled' : 'enabled' }
  if (reasoning === 'switch' || effort === 'none') return { thinking }
  return { thinking, reasoning_effort: effort === 'minimal' ? 'low' : effort }
}

function toChatTool({ name, description, parameters }: RequestInput['tools'][number]): JsonObject {
  return { type: 'function', function: { name, description, parameters } }
}

function toChatMessages(message: NormalizedMessage, quirks: ProviderQuirks): JsonObject[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: message.parts?.map(toChatPart) ?? joinSeparateTexts(message.texts) }]
    case 'results':
      return message.results.map((result) => ({ role: 'tool', tool_call_id: result.id, content: result.text }))
    case 'assistant': {
      const text = joinSeparateTexts(message.texts)
      const { tool_calls: keptCalls, ...original } = asRecord(message.items[0])
      // What other models have written has none; an empty text does not count.
      const fields = quirks.requiresReasoning === true ? { reasoning_content: ' ', ...original } : original
      if (message.calls.length === 0) return [{ role: 'assistant', content: text, ...fields }]
      return [
        {
          role: 'assistant',
          content: text === '' ? null : text,
          ...fields,
          tool_calls: message.calls.map((call) => toChatToolCall(call, keptCalls)),
        },
      ]
    }
  }
}

function toChatPart(part: string | ImagePart, index: number): JsonObject {
  if (typeof part !== 'string') return { type: 'image_url', image_url: { url: pictureAddress(part) } }
  return { type: 'text', text: index === 0 ? part : joinSeparateTexts(['', part]).trimStart() }
}

function toChatToolCall(call: NormalizedToolCall, keptCalls: unknown): JsonObject {
  const original = asArray(keptCalls).find((entry) => isRecord(entry) && entry['id'] === call.id)
  return {
    ...asRecord(original),
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }
}

// Response

function parseChatDelta(chunk: JsonObject): TextDelta | null {
  const delta = asRecord(asRecord(asArray(chunk['choices'])[0])['delta'])
  const { text, reasoning } = readTexts(delta)
  if (text !== '') return { kind: 'text', text }
  return reasoning === '' ? null : { kind: 'reasoning', text: reasoning }
}

function isChatProgress({ choices, usage }: JsonObject): boolean {
  if (isRecord(usage)) return true
  return asArray(choices).some((choice) => {
    const { delta, finish_reason } = asRecord(choice)
    return asString(finish_reason) !== '' || hasOutput(delta)
  })
}

function parseChatResponse(response: JsonObject, quirks: ProviderQuirks): ModelOutput {
  const choice = asArray(response['choices'])[0]
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) {
    throw new ModelError('bad-response', 'The response contains no message; a chat completion was expected.')
  }
  const toolCalls = parseToolCalls(asArray(message['tool_calls']).filter(isRecord), asString(response['id']))
  const providerItems = extractProviderItems(message, quirks)
  const { text, reasoning } = readTexts(message)
  return {
    text,
    toolCalls,
    usage: extractUsage(response) ?? noUsage,
    finishReason: asString(choice['finish_reason']) || (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    ...(reasoning === '' ? {} : { reasoning }),
    providerItems,
  }
}

/** The texts of a message or of one delta: what is shown while the model writes is read as the finished response is. */
function readTexts(message: JsonObject): { readonly text: string; readonly reasoning: string } {
  const { content } = message
  return {
    text: joinTexts(content) || asString(message['refusal']),
    // The field is not standardised; servers use these two names.
    reasoning: asString(message['reasoning_content']) || asString(message['reasoning']) || thoughtsIn(content),
  }
}

/** Mistral's models think in parts of the content. */
function thoughtsIn(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((part) => joinTexts(asRecord(part)['thinking'])).join('')
}

/** A text, or a list of texts and of parts that may have one. */
function joinTexts(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value.map((part) => (typeof part === 'string' ? part : asString(asRecord(part)['text']))).join('')
}

function parseToolCalls(calls: readonly JsonObject[], responseId: string): ToolCall[] {
  const seen = new Set<string>()
  return calls.map((call, position) => {
    const fn = asRecord(call['function'])
    const args = fn['arguments']
    const callId = asString(call['id'])
    // A tool result refers to its call by id, so missing and repeated ids are replaced.
    const id = callId !== '' && !seen.has(callId) ? callId : `call_${responseId || 'response'}_${position}`
    seen.add(id)
    return { id, name: asString(fn['name']), arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) }
  })
}

const REASONING_FIELDS = ['reasoning_content', 'reasoning_details'] as const
const KNOWN_CALL_KEYS = new Set(['id', 'type', 'function', 'index'])

/**
 * Reasoning and signatures that other vendors require again together with the results of their tool calls. Undefined
 * for messages without any, which includes all of OpenAI's own.
 */
function extractProviderItems(
  message: JsonObject,
  { requiresReasoning }: ProviderQuirks,
): readonly JsonObject[] | undefined {
  const calls = asArray(message['tool_calls']).filter(isRecord)
  if (calls.length === 0 && requiresReasoning !== true) return undefined
  const copied: MutableJsonObject = {}
  for (const field of REASONING_FIELDS) {
    const value = message[field]
    if (value !== undefined && value !== null && value !== '') copied[field] = value
  }
  const signedCalls = calls.flatMap((call) => {
    const extra = Object.entries(call).filter(([key, value]) => !KNOWN_CALL_KEYS.has(key) && value !== null)
    return extra.length === 0 ? [] : [{ id: asString(call['id']), ...Object.fromEntries(extra) }]
  })
  if (signedCalls.length > 0) copied['tool_calls'] = signedCalls
  return Object.keys(copied).length === 0 ? undefined : [copied]
}

// Stream: builds the `chat.completion` from its `chat.completion.chunk`s.

interface Choice {
  readonly fields: MutableJsonObject
  readonly message: MutableJsonObject
  readonly calls: MutableJsonObject[]
}

/** Assigning `__proto__` would change the prototype, and the obfuscation is padding. */
const notTopLevel: ReadonlySet<string> = new Set(['choices', 'obfuscation', '__proto__'])
const notOfChoice: ReadonlySet<string> = new Set(['index', 'delta'])
const notOfMessage: ReadonlySet<string> = new Set(['tool_calls'])

function createChatAggregator(maxChars: number): ResponseAggregator {
  const countChars = createResponseSizeLimit(maxChars)
  const top: MutableJsonObject = {}
  const choices = new Map<number, Choice>()
  let isMarkedDone = false
  return {
    add(chunk) {
      // Top-level fields (id, model, usage so far) are repeated in every chunk: the last value counts.
      for (const key of Object.keys(chunk)) {
        if (notTopLevel.has(key)) continue
        const value = chunk[key]
        if (value !== null || top[key] === undefined) top[key] = value
      }
      for (const part of arrayOrThrow(chunk['choices'], 'choices')) addChoice(part, choices, countChars)
    },
    markDone() {
      isMarkedDone = true
    },
    get isDone() {
      return isMarkedDone
    },
    result() {
      // Some servers omit `[DONE]`, others the finish reason. A stream without either was cut off.
      const isFinished = isMarkedDone || [...choices.values()].some(({ fields }) => fields['finish_reason'] !== null)
      if (!isFinished) return null
      if (choices.size === 0) throw new ModelError('bad-response', 'The model ended its stream without a choice.')
      return { ...top, object: 'chat.completion', choices: valuesByIndex(choices).map(finishChoice) }
    },
  }
}

function addChoice(part: unknown, choices: Map<number, Choice>, countChars: CountChars): void {
  if (!isRecord(part)) throw invalidChunk('a choice')
  const { index = 0, delta } = part
  if (!isIndex(index)) throw invalidChunk('the index of a choice')
  const choice = choices.get(index) ?? {
    fields: { index, finish_reason: null },
    message: { role: 'assistant', content: null },
    calls: [],
  }
  choices.set(index, choice)
  mergeDelta(choice.fields, part, countChars, notOfChoice)
  if (delta === null || delta === undefined) return
  if (!isRecord(delta)) throw invalidChunk('a delta')
  const { tool_calls: calls, content } = delta
  if (content !== null && content !== undefined && typeof content !== 'string' && !Array.isArray(content)) {
    throw invalidChunk('the content of a delta')
  }
  mergeDelta(choice.message, Array.isArray(content) ? withTexts(delta) : delta, countChars, notOfMessage)
  for (const call of arrayOrThrow(calls, 'tool_calls')) addToolCallFragment(choice.calls, call, countChars)
}

/**
 * The content of a delta as texts, which can be continued. A server may send a list of parts and then an empty text, which would
 * replace the list.
 */
function withTexts(delta: JsonObject): JsonObject {
  const { text, reasoning } = readTexts(delta)
  return { ...delta, content: text, ...(reasoning === '' ? {} : { reasoning }) }
}

function addToolCallFragment(calls: MutableJsonObject[], fragment: unknown, countChars: CountChars): void {
  if (!isRecord(fragment)) throw invalidChunk('a tool call')
  const { index, ...fields } = fragment
  if (index !== undefined && index !== null && !isIndex(index)) throw invalidChunk('the index of a tool call')
  const fn = fields['function']
  if (fn !== undefined && fn !== null && !isRecord(fn)) throw invalidChunk('the function of a tool call')
  mergeDelta(findOrAddToolCall(calls, fields, index), fields, countChars)
}

/**
 * Finds the call that a fragment continues. Some servers give every call the index 0, some give none, some repeat the
 * id. A fragment with another id and a name is a new call, whatever its index.
 */
function findOrAddToolCall(calls: MutableJsonObject[], fields: JsonObject, index: unknown): MutableJsonObject {
  const id = asString(fields['id'])
  const name = asString(asRecord(fields['function'])['name'])
  const candidate = typeof index === 'number' ? calls.findLast((call) => call['index'] === index) : calls.at(-1)
  const isNewCall = candidate !== undefined && id !== '' && name !== '' && asString(candidate['id']) !== id
  if (candidate !== undefined && !isNewCall) return candidate
  const call: MutableJsonObject = typeof index === 'number' ? { index } : {}
  calls.push(call)
  return call
}

function finishChoice(choice: Choice): JsonObject {
  // The index belongs to the stream; a finished message has none.
  const calls = choice.calls.map(({ index: _index, ...call }) => ({ type: 'function', ...call }))
  const message = calls.length === 0 ? choice.message : { ...choice.message, tool_calls: calls }
  return { ...choice.fields, message }
}

function arrayOrThrow(value: unknown, what: string): readonly unknown[] {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) throw invalidChunk(what)
  return value
}

function invalidChunk(what: string): ModelError {
  return new ModelError('bad-response', `The model sent a chunk in which ${what} has a wrong type.`)
}
