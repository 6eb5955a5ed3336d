/**
 * Converts the `input` of a response into messages of a chat completion, which are then read as those. Pure.
 */
import { isRecord } from '#sdk'
import { invalidParam } from './errors.ts'
import { readString } from './payload.ts'
import { type ParsedMessages, readMessages } from './read-messages.ts'

interface Converted {
  readonly message: Record<string, unknown>
  /** The index of its item. */
  readonly index: number
}

/** A text, or a list of items. Throws `ApiError` 400 with the name of the field. */
export function readInput(value: unknown): ParsedMessages {
  if (typeof value === 'string') {
    if (value.trim() === '') throw invalidParam('input', 'expected a text that is not empty')
    return readMessages([{ role: 'user', content: value }], { field: 'input', at: () => 'input' })
  }
  if (!Array.isArray(value) || value.length === 0)
    throw invalidParam('input', 'expected a text or a list with at least one item')
  const converted: Converted[] = []
  for (const [index, item] of value.entries()) append(converted, item, index)
  return readMessages(
    converted.map(({ message }) => message),
    { field: 'input', at: (index) => `input[${converted[index]?.index ?? index}]` },
  )
}

function append(converted: Converted[], item: unknown, index: number): void {
  const at = `input[${index}]`
  if (!isRecord(item)) throw invalidParam(at, 'expected an object')
  const { type = 'message' } = item
  switch (type) {
    case 'message':
      converted.push({ index, message: { role: item['role'], content: readContent(item['content'], at) } })
      return
    case 'function_call': {
      const called = { name: item['name'], arguments: item['arguments'] }
      const call = { id: readString(item['call_id'], `${at}.call_id`), function: called }
      // Calls of one answer are consecutive items.
      const before = converted.at(-1)?.message['tool_calls']
      if (Array.isArray(before)) before.push(call)
      else converted.push({ index, message: { role: 'assistant', content: null, tool_calls: [call] } })
      return
    }
    case 'function_call_output': {
      const content = readContent(item['output'], `${at}.output`)
      converted.push({ index, message: { role: 'tool', tool_call_id: item['call_id'], content } })
      return
    }
    // What other models thought. The model of the gateway cannot read it.
    case 'reasoning':
      return
    default:
      throw invalidParam(
        `${at}.type`,
        `items of type ${JSON.stringify(type)} are not supported, only message, function_call, function_call_output and reasoning`,
        'unsupported_value',
      )
  }
}

function readContent(content: unknown, at: string): unknown {
  if (!Array.isArray(content)) return content
  return content.map((part: unknown, index) => readPart(part, `${at}.content[${index}]`))
}

/** Parts that are not known here are refused by the reader of messages. */
function readPart(part: unknown, at: string): unknown {
  if (!isRecord(part)) return part
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part['text'] }
    case 'input_image': {
      if (typeof part['image_url'] !== 'string')
        throw invalidParam(`${at}.image_url`, 'expected a data: URL or an https address', 'invalid_image_url')
      const { detail = 'auto' } = part
      return {
        type: 'image_url',
        image_url: { url: part['image_url'], detail: detail === 'original' ? 'high' : detail },
      }
    }
    default:
      return part
  }
}
