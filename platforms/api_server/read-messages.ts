/**
 * Converts the `messages` of a request: the last user message is the input, the earlier ones are the transcript of a new
 * session, and system and developer messages are its instructions. Pure.
 */
import { type ChatMessage, isRecord, type ToolCall } from '#sdk'
import { invalidParam } from './errors.ts'
import { readString } from './payload.ts'

export interface ParsedMessages {
  readonly input: string
  readonly history: readonly ChatMessage[]
  /** '' without system and developer messages. */
  readonly instructions: string
}

/** Throws `ApiError` 400 with the name of the field. */
export function readMessages(value: unknown): ParsedMessages {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidParam('messages', 'expected a list with at least one message')
  const instructions: string[] = []
  const spoken: ChatMessage[] = []
  const openCalls = new Map<string, string>()
  value.forEach((message: unknown, index) => {
    const at = `messages[${index}]`
    if (!isRecord(message)) throw invalidParam(at, 'expected an object')
    const role = message['role']
    if (role === 'system' || role === 'developer') {
      instructions.push(readText(message['content'], `${at}.content`))
      return
    }
    if (role !== 'tool' && openCalls.size > 0) {
      throw invalidParam(
        at,
        `expected a tool message for each tool call first; missing: ${[...openCalls.keys()].join(', ')}`,
      )
    }
    appendMerged(spoken, readChatMessage(message, role, at, openCalls))
  })
  const last = spoken.pop()
  if (last === undefined) throw invalidParam('messages', 'expected a user message')
  if (last.role !== 'user') throw invalidParam('messages', 'the last message must be a user message')
  if (last.content.trim() === '') throw invalidParam('messages', 'the last user message is empty')
  return { input: last.content, history: spoken, instructions: instructions.filter((text) => text !== '').join('\n\n') }
}

/** `openCalls` contains the tool calls without a result, with their tool names. It is updated. */
function readChatMessage(
  message: Record<string, unknown>,
  role: unknown,
  at: string,
  openCalls: Map<string, string>,
): ChatMessage {
  const content = message['content']
  switch (role) {
    case 'user':
      return { role, content: readText(content, `${at}.content`) }
    case 'assistant': {
      const toolCalls = readToolCalls(message['tool_calls'], `${at}.tool_calls`)
      for (const call of toolCalls) openCalls.set(call.id, call.name)
      const text = content === null || content === undefined ? '' : readText(content, `${at}.content`)
      return { role, content: text, ...(toolCalls.length === 0 ? {} : { toolCalls }) }
    }
    case 'tool': {
      const toolCallId = readString(message['tool_call_id'], `${at}.tool_call_id`)
      const name = openCalls.get(toolCallId)
      if (name === undefined)
        throw invalidParam(`${at}.tool_call_id`, 'no earlier assistant message has this tool call open')
      openCalls.delete(toolCallId)
      return { role, toolCallId, name, content: readText(content, `${at}.content`) }
    }
    default:
      throw invalidParam(
        `${at}.role`,
        `expected system, developer, user, assistant or tool, found ${JSON.stringify(role)}`,
      )
  }
}

/** Models expect alternating roles, so consecutive messages of one role are merged. */
function appendMerged(spoken: ChatMessage[], message: ChatMessage): void {
  const before = spoken.at(-1)
  if (before?.role === 'user' && message.role === 'user') {
    spoken[spoken.length - 1] = { role: 'user', content: joinContent(before.content, message.content) }
  } else if (before?.role === 'assistant' && message.role === 'assistant') {
    spoken[spoken.length - 1] = { ...message, content: joinContent(before.content, message.content) }
  } else spoken.push(message)
}

/** Appends instead of joining, because joining thousands of messages would take quadratic time. */
function joinContent(a: string, b: string): string {
  return a === '' || b === '' ? a + b : `${a}\n\n${b}`
}

/** A string, or a list of text parts. */
function readText(content: unknown, at: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalidParam(at, 'expected a string or a list of content parts')
  return content.map((part: unknown, index) => readPart(part, `${at}[${index}]`)).join('')
}

function readPart(part: unknown, at: string): string {
  const type = isRecord(part) ? part['type'] : undefined
  if (!isRecord(part) || typeof type !== 'string') throw invalidParam(at, 'expected a content part with a type')
  if (type === 'text') return readString(part['text'], `${at}.text`)
  if (type === 'refusal') return readString(part['refusal'], `${at}.refusal`)
  throw invalidParam(
    `${at}.type`,
    `parts of type ${JSON.stringify(type)} are not supported yet, only text`,
    'unsupported_value',
  )
}

function readToolCalls(value: unknown, at: string): ToolCall[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw invalidParam(at, 'expected a list of tool calls')
  return value.map((call: unknown, index) => {
    const where = `${at}[${index}]`
    const called = isRecord(call) ? call['function'] : undefined
    if (!isRecord(call) || !isRecord(called))
      throw invalidParam(where, 'expected a tool call with an id and a function')
    return {
      id: readString(call['id'], `${where}.id`),
      name: readString(called['name'], `${where}.function.name`),
      arguments: readString(called['arguments'], `${where}.function.arguments`),
    }
  })
}
