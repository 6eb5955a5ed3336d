/**
 * Conversations in the form that OpenTelemetry's GenAI conventions give them (`gen_ai.input.messages` and its sisters), read
 * from requests and answers of all three wire formats.
 */
import { asArray, asRecord, asString, type Fields, isRecord } from '#sdk'

type Part =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: unknown }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string }

interface Message {
  readonly role: string
  readonly parts: readonly Part[]
}

type Truncate = (text: string) => string

/** Attributes of a request, as JSON texts. */
export function inputContentAttributes(request: Fields, maxChars: number): Record<string, string> {
  const cut = createTruncate(maxChars)
  const items = asArray(request['messages'] ?? request['input']).filter(isRecord)
  const systemItems = items.filter(({ role }) => role === 'system' || role === 'developer')
  const system = [
    ...textsIn(request['instructions']),
    ...textsIn(request['system']),
    ...systemItems.flatMap(({ content }) => textsIn(content)),
  ]
  const messages = items.filter((item) => !systemItems.includes(item)).map((item) => toMessage(item, cut))
  return {
    'gen_ai.input.messages': JSON.stringify(messages.filter(({ parts }) => parts.length > 0)),
    ...(system.length === 0
      ? {}
      : { 'gen_ai.system_instructions': JSON.stringify(system.map((text) => ({ type: 'text', content: cut(text) }))) }),
  }
}

export function outputContentAttributes(response: Fields, maxChars: number): Record<string, string> {
  const cut = createTruncate(maxChars)
  const parts = outputItemsOf(response).flatMap((item) => toParts(item, cut))
  return parts.length === 0 ? {} : { 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]) }
}

export function truncateToText(value: unknown, maxChars: number): string {
  return createTruncate(maxChars)(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}

function outputItemsOf(response: Fields): Fields[] {
  if (Array.isArray(response['output'])) return response['output'].filter(isRecord)
  const choices = asArray(response['choices'])
  return choices.length === 0 ? [response] : choices.map((choice) => asRecord(asRecord(choice)['message']))
}

function toMessage(item: Fields, cut: Truncate): Message {
  const isResult = item['type'] === 'function_call_output'
  const parts = toParts(item, cut)
  const onlyResults = parts.length > 0 && parts.every(({ type }) => type === 'tool_call_response')
  const role = isResult || onlyResults ? 'tool' : asString(item['role']) || 'assistant'
  return { role, parts }
}

function toParts(item: Fields, cut: Truncate): Part[] {
  const { type, role, content } = item
  if (type === 'function_call') return [callPart(item['call_id'], item['name'], item['arguments'], cut)]
  if (type === 'function_call_output') return [resultPart(item['call_id'], item['output'], cut)]
  if (role === 'tool') return [resultPart(item['tool_call_id'], content, cut)]
  const said =
    typeof content === 'string' ? textPart(content, cut) : asArray(content).filter(isRecord).flatMap(blockPart)
  const calls = asArray(item['tool_calls'])
    .map(asRecord)
    .map(({ id, function: fn }) => callPart(id, asRecord(fn)['name'], asRecord(fn)['arguments'], cut))
  return [...said, ...calls]

  function blockPart(block: Fields): Part[] {
    if (block['type'] === 'tool_use') return [callPart(block['id'], block['name'], block['input'], cut)]
    if (block['type'] === 'tool_result') return [resultPart(block['tool_use_id'], block['content'], cut)]
    return textPart(asString(block['text']), cut)
  }
}

function textPart(text: string, cut: Truncate): Part[] {
  return text === '' ? [] : [{ type: 'text', content: cut(text) }]
}

function callPart(id: unknown, name: unknown, args: unknown, cut: Truncate): Part {
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {})
  return { type: 'tool_call', id: asString(id), name: asString(name), arguments: cut(text) }
}

function resultPart(id: unknown, result: unknown, cut: Truncate): Part {
  return { type: 'tool_call_response', id: asString(id), response: cut(textsIn(result).join('')) }
}

/** Of a text, or of a list of parts. */
function textsIn(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  return asArray(content)
    .map((part) => (typeof part === 'string' ? part : asString(asRecord(part)['text'])))
    .filter((text) => text !== '')
}

function createTruncate(maxChars: number): Truncate {
  return (text) => (text.length <= maxChars ? text : `${text.slice(0, maxChars).toWellFormed()}…`)
}
