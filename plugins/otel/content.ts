/**
 * Conversations in the form that OpenTelemetry's GenAI conventions give them (`gen_ai.input.messages` and its sisters), read
 * from requests and answers of all three wire formats.
 */
import { type Fields, isRecord, list, record, str } from '#sdk'

type Part =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: unknown }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string }

interface Message {
  readonly role: string
  readonly parts: readonly Part[]
}

type Cut = (text: string) => string

/** Attributes of a request, as JSON texts. */
export function inputContent(request: Fields, maxChars: number): Record<string, string> {
  const cut = cutter(maxChars)
  const items = list(request['messages'] ?? request['input']).filter(isRecord)
  const rules = items.filter(({ role }) => role === 'system' || role === 'developer')
  const system = [
    ...textsIn(request['instructions']),
    ...textsIn(request['system']),
    ...rules.flatMap(({ content }) => textsIn(content)),
  ]
  const messages = items.filter((item) => !rules.includes(item)).map((item) => messageOf(item, cut))
  return {
    'gen_ai.input.messages': JSON.stringify(messages.filter(({ parts }) => parts.length > 0)),
    ...(system.length === 0
      ? {}
      : { 'gen_ai.system_instructions': JSON.stringify(system.map((text) => ({ type: 'text', content: cut(text) }))) }),
  }
}

export function outputContent(response: Fields, maxChars: number): Record<string, string> {
  const cut = cutter(maxChars)
  const parts = answersIn(response).flatMap((item) => partsOf(item, cut))
  return parts.length === 0 ? {} : { 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]) }
}

export function shortened(value: unknown, maxChars: number): string {
  return cutter(maxChars)(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}

function answersIn(response: Fields): Fields[] {
  if (Array.isArray(response['output'])) return response['output'].filter(isRecord)
  const choices = list(response['choices'])
  return choices.length === 0 ? [response] : choices.map((choice) => record(record(choice)['message']))
}

function messageOf(item: Fields, cut: Cut): Message {
  const isResult = item['type'] === 'function_call_output'
  const parts = partsOf(item, cut)
  const onlyResults = parts.length > 0 && parts.every(({ type }) => type === 'tool_call_response')
  const role = isResult || onlyResults ? 'tool' : str(item['role']) || 'assistant'
  return { role, parts }
}

function partsOf(item: Fields, cut: Cut): Part[] {
  const { type, role, content } = item
  if (type === 'function_call') return [callPart(item['call_id'], item['name'], item['arguments'], cut)]
  if (type === 'function_call_output') return [resultPart(item['call_id'], item['output'], cut)]
  if (role === 'tool') return [resultPart(item['tool_call_id'], content, cut)]
  const said = typeof content === 'string' ? textPart(content, cut) : list(content).filter(isRecord).flatMap(blockPart)
  const calls = list(item['tool_calls'])
    .map(record)
    .map(({ id, function: fn }) => callPart(id, record(fn)['name'], record(fn)['arguments'], cut))
  return [...said, ...calls]

  function blockPart(block: Fields): Part[] {
    if (block['type'] === 'tool_use') return [callPart(block['id'], block['name'], block['input'], cut)]
    if (block['type'] === 'tool_result') return [resultPart(block['tool_use_id'], block['content'], cut)]
    return textPart(str(block['text']), cut)
  }
}

function textPart(text: string, cut: Cut): Part[] {
  return text === '' ? [] : [{ type: 'text', content: cut(text) }]
}

function callPart(id: unknown, name: unknown, args: unknown, cut: Cut): Part {
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {})
  return { type: 'tool_call', id: str(id), name: str(name), arguments: cut(text) }
}

function resultPart(id: unknown, result: unknown, cut: Cut): Part {
  return { type: 'tool_call_response', id: str(id), response: cut(textsIn(result).join('')) }
}

/** Of a text, or of a list of parts. */
function textsIn(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  return list(content)
    .map((part) => (typeof part === 'string' ? part : str(record(part)['text'])))
    .filter((text) => text !== '')
}

function cutter(maxChars: number): Cut {
  return (text) => (text.length <= maxChars ? text : `${text.slice(0, maxChars).toWellFormed()}…`)
}
