/**
 * Converts requests and responses of all three wire formats into the message attributes of OpenTelemetry's GenAI
 * conventions, such as `gen_ai.input.messages`.
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

/** The attributes of a request, as JSON. */
export function inputContentAttributes(request: Fields, maxChars: number): Record<string, string> {
  const truncate = createTruncate(maxChars)
  const items = asArray(request['messages'] ?? request['input']).filter(isRecord)
  const systemItems = items.filter(({ role }) => role === 'system' || role === 'developer')
  const system = [
    ...textsIn(request['instructions']),
    ...textsIn(request['system']),
    ...systemItems.flatMap(({ content }) => textsIn(content)),
  ]
  const messages = items.filter((item) => !systemItems.includes(item)).map((item) => toMessage(item, truncate))
  return {
    'gen_ai.input.messages': JSON.stringify(messages.filter(({ parts }) => parts.length > 0)),
    ...(system.length === 0
      ? {}
      : {
          'gen_ai.system_instructions': JSON.stringify(
            system.map((text) => ({ type: 'text', content: truncate(text) })),
          ),
        }),
  }
}

export function outputContentAttributes(response: Fields, maxChars: number): Record<string, string> {
  const truncate = createTruncate(maxChars)
  const parts = outputItemsOf(response).flatMap((item) => toParts(item, truncate))
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

function toMessage(item: Fields, truncate: Truncate): Message {
  const isResult = item['type'] === 'function_call_output'
  const parts = toParts(item, truncate)
  const onlyResults = parts.length > 0 && parts.every(({ type }) => type === 'tool_call_response')
  const role = isResult || onlyResults ? 'tool' : asString(item['role']) || 'assistant'
  return { role, parts }
}

function toParts(item: Fields, truncate: Truncate): Part[] {
  const { type, role, content } = item
  if (type === 'function_call') return [callPart(item['call_id'], item['name'], item['arguments'], truncate)]
  if (type === 'function_call_output') return [resultPart(item['call_id'], item['output'], truncate)]
  if (role === 'tool') return [resultPart(item['tool_call_id'], content, truncate)]
  const texts =
    typeof content === 'string' ? textPart(content, truncate) : asArray(content).filter(isRecord).flatMap(blockPart)
  const calls = asArray(item['tool_calls'])
    .map(asRecord)
    .map(({ id, function: fn }) => callPart(id, asRecord(fn)['name'], asRecord(fn)['arguments'], truncate))
  return [...texts, ...calls]

  function blockPart(block: Fields): Part[] {
    if (block['type'] === 'tool_use') return [callPart(block['id'], block['name'], block['input'], truncate)]
    if (block['type'] === 'tool_result') return [resultPart(block['tool_use_id'], block['content'], truncate)]
    return textPart(asString(block['text']), truncate)
  }
}

function textPart(text: string, truncate: Truncate): Part[] {
  return text === '' ? [] : [{ type: 'text', content: truncate(text) }]
}

function callPart(id: unknown, name: unknown, args: unknown, truncate: Truncate): Part {
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {})
  return { type: 'tool_call', id: asString(id), name: asString(name), arguments: truncate(text) }
}

function resultPart(id: unknown, result: unknown, truncate: Truncate): Part {
  return { type: 'tool_call_response', id: asString(id), response: truncate(textsIn(result).join('')) }
}

/** @param content a text or a list of parts */
function textsIn(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  return asArray(content)
    .map((part) => (typeof part === 'string' ? part : asString(asRecord(part)['text'])))
    .filter((text) => text !== '')
}

function createTruncate(maxChars: number): Truncate {
  return (text) => (text.length <= maxChars ? text : `${text.slice(0, maxChars).toWellFormed()}…`)
}
