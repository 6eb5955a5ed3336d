/**
 * Brings a stored conversation into the strict order that every vendor accepts (contract §4.1): user and assistant
 * alternate, each tool call is followed by exactly one result. Pure, so that the same history gives the same bytes.
 */

import { asRecord, isRecord, parseJson } from '../../lib/json.ts'
import type { AssistantMessage, ChatMessage, ToolMessage } from '../../message/transcript.ts'
import type { ApiMode, JsonObject } from './provider.ts'

export interface NormalizedToolCall {
  readonly id: string
  readonly name: string
  /** JSON text of an object, whatever the model wrote. */
  readonly arguments: string
  readonly input: JsonObject
}

interface NormalizedToolResult {
  readonly id: string
  readonly name: string
  readonly text: string
}

export type NormalizedMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly NormalizedToolCall[]
      /** The vendor's own items of this message, if the same API made them and they still say the same. */
      readonly items: readonly unknown[]
    }
  | { readonly role: 'results'; readonly results: readonly NormalizedToolResult[] }

export const MISSING_TOOL_RESULT = '{"error":"The result of this call is missing: the turn ended before the tool did."}'

/**
 * Joins neighbours of the same role with a blank line, gives calls without a result a stub, drops results without a
 * call and assistant messages without content. A user message between results moves behind them. Lone surrogates,
 * which no vendor's parser takes, become U+FFFD.
 */
export function normalizeMessages(messages: readonly ChatMessage[], apiMode: ApiMode): NormalizedMessage[] {
  const normalized: NormalizedMessage[] = []
  const ids = new Set<string>()
  for (const [position, message] of messages.entries()) {
    if (message.role === 'user') addUser(normalized, message.content)
    if (message.role === 'assistant') addAssistant(normalized, message, resultsAfter(messages, position), apiMode, ids)
  }
  return normalized
}

/** The results between this message and the next one of the assistant, the first of each call. */
function resultsAfter(messages: readonly ChatMessage[], position: number): ReadonlyMap<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (let at = position + 1; at < messages.length; at += 1) {
    const message = messages[at]
    if (message?.role === 'assistant') break
    if (message?.role === 'tool' && !results.has(message.toolCallId)) results.set(message.toolCallId, message)
  }
  return results
}

function addUser(turns: NormalizedMessage[], content: string): void {
  const text = content.toWellFormed()
  const last = turns.at(-1)
  if (last?.role === 'user') turns[turns.length - 1] = { role: 'user', text: joinTexts(last.text, text) }
  else turns.push({ role: 'user', text })
}

function addAssistant(
  turns: NormalizedMessage[],
  message: AssistantMessage,
  results: ReadonlyMap<string, ToolMessage>,
  apiMode: ApiMode,
  ids: Set<string>,
): void {
  const text = message.content.toWellFormed()
  const calls: NormalizedToolCall[] = []
  const toolResults: NormalizedToolResult[] = []
  for (const call of message.toolCalls ?? []) {
    const id = uniqueId(call.id, ids)
    const name = sanitizeToolName(call.name)
    calls.push({ id, name, ...normalizeArguments(call.arguments) })
    toolResults.push({ id, name, text: results.get(call.id)?.content.toWellFormed() ?? MISSING_TOOL_RESULT })
  }
  if (text.trim() === '' && calls.length === 0) return
  const last = turns.at(-1)
  const items = message.providerData?.apiMode === apiMode ? message.providerData.items : []
  if (last?.role === 'assistant') {
    turns[turns.length - 1] = { role: 'assistant', text: joinTexts(last.text, text), calls, items: [] }
  } else {
    turns.push({ role: 'assistant', text, calls, items })
  }
  if (toolResults.length > 0) turns.push({ role: 'results', results: toolResults })
}

function joinTexts(before: string, after: string): string {
  return before === '' || after === '' ? before + after : `${before}\n\n${after}`
}

/** Vendors refuse an empty id and an id used twice; a suffix makes both usable without touching good ones. */
function uniqueId(id: string, taken: Set<string>): string {
  const base = id === '' ? 'call' : id
  let unique = base
  for (let count = 2; taken.has(unique); count += 1) unique = `${base}_${count}`
  taken.add(unique)
  return unique
}

/** Models sometimes call tools by names that vendors refuse to hear again. */
function sanitizeToolName(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, 64) || 'unknown'
}

/** Well-formed arguments keep their very bytes; others are kept as a text inside an object. */
function normalizeArguments(text: string): { arguments: string; input: JsonObject } {
  if (text.trim() === '') return { arguments: '{}', input: {} }
  const input = parseJson(text)
  if (isRecord(input))
    return { arguments: text.toWellFormed(), input: hasSurrogateEscape(text) ? replaceLoneSurrogates(text) : input }
  const wrapped = { malformed_arguments: text.toWellFormed() }
  return { arguments: JSON.stringify(wrapped), input: wrapped }
}

function hasSurrogateEscape(text: string): boolean {
  return /\\ud[89a-f]/i.test(text)
}

/** Escapes hide lone surrogates from `toWellFormed` on the text: they have to be taken out of the parsed values. */
function replaceLoneSurrogates(text: string): JsonObject {
  const value: unknown = JSON.parse(text, (_key, entry: unknown) =>
    typeof entry === 'string' ? entry.toWellFormed() : entry,
  )
  return asRecord(value)
}
