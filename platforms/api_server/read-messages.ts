/**
 * From the `messages` of a chat completion request to what the agent gets: the last user message as the input, the
 * earlier ones as the transcript of a new session, system and developer messages as its instructions. Pure.
 */
import type { ChatMessage, ToolCall } from '#sdk'
import { invalidParam } from './errors.ts'
import { isRecord, readString } from './payload.ts'

export interface ParsedMessages {
  readonly input: string
  readonly history: readonly ChatMessage[]
  /** '' when the client gave none. */
  readonly instructions: string
}

/** Throws `ApiError` 400 naming the field. */
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
  if (last.role !== 'user')
    throw invalidParam('messages', 'the last message must be a user message: it is what the agent answers')
  if (last.content.trim() === '') throw invalidParam('messages', 'the last user message is empty')
  return { input: last.content, history: spoken, instructions: instructions.filter((text) => text !== '').join('\n\n') }
}

/** `openCalls`: ids of tool calls without a result, with the names of their tools; kept up to date. */
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

/** Models want user and assistant to take turns: neighbours of the same role become one message. */
function appendMerged(spoken: ChatMessage[], message: ChatMessage): void {
  const before = spoken.at(-1)
  if (before?.role === 'user' && message.role === 'user') {
    spoken[spoken.length - 1] = { role: 'user', content: joinContent(before.content, message.content) }
  } else if (before?.role === 'assistant' && message.role === 'assistant') {
    spoken[spoken.length - 1] = { ...message, content: joinContent(before.content, message.content) }
  } else spoken.push(message)
}

/** Not `join`, which copies both: thousands of neighbours would take minutes. */
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
