/**
 * Converts the `messages` of a request: the last user message is the input, the earlier ones are the transcript of a new
 * session, and system and developer messages are its instructions. Pure: pictures are references to what the client sent.
 */
import { type ChatMessage, isRecord, type ToolCall } from '#sdk'
import { type ApiError, invalidParam } from './errors.ts'
import { readString } from './payload.ts'

export interface ParsedMessages {
  readonly input: string
  readonly pictures: readonly PictureReference[]
  readonly recordings: readonly Recording[]
  readonly history: readonly ParsedMessage[]
  /** '' without system and developer messages. */
  readonly instructions: string
}

/** A picture of a user message: a data URL, or an address. */
export interface PictureReference {
  /** The field, for errors. */
  readonly at: string
  readonly url: string
}

/** What a user says. */
export interface Recording {
  /** The field, for errors. */
  readonly at: string
  readonly base64: string
}

export interface ParsedMessage {
  readonly message: ChatMessage
  readonly pictures: readonly PictureReference[]
  readonly recordings: readonly Recording[]
}

const maxRecordings = 4

/** Limits the pictures of one message; a model is not shown more. */
const maxPictures = 8
/** Limits the pictures of all messages together. */
const maxPicturesOfRequest = 50

/** How errors name the list and its messages. */
export interface MessageNames {
  readonly field: string
  at(index: number): string
}

const namesOfMessages: MessageNames = { field: 'messages', at: (index) => `messages[${index}]` }

/** Throws `ApiError` 400 with the name of the field. */
export function readMessages(value: unknown, { field, at: nameOf } = namesOfMessages): ParsedMessages {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidParam(field, 'expected a list with at least one message')
  const instructions: string[] = []
  const spoken: ParsedMessage[] = []
  const openCalls = new Map<string, string>()
  value.forEach((message: unknown, index) => {
    const at = nameOf(index)
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
  if (last === undefined) throw invalidParam(field, 'expected a user message')
  const { message, pictures, recordings } = last
  if (message.role !== 'user') throw invalidParam(field, 'the last message must be a user message')
  if (message.content.trim() === '' && pictures.length + recordings.length === 0)
    throw invalidParam(field, 'the last user message is empty')
  const all = spoken.reduce((sum, message) => sum + message.pictures.length, pictures.length)
  if (all > maxPicturesOfRequest) throw tooManyPictures(field, all, maxPicturesOfRequest)
  return {
    input: message.content,
    pictures,
    recordings,
    history: spoken.map(withoutRecordings),
    instructions: instructions.filter((text) => text !== '').join('\n\n'),
  }
}

/** Only what is said in the last message is transcribed. */
function withoutRecordings(parsed: ParsedMessage): ParsedMessage {
  const { message, recordings } = parsed
  if (recordings.length === 0) return parsed
  const content = joinContent('[Attached audio of an earlier message: not transcribed]', message.content)
  return { ...parsed, message: { ...message, content }, recordings: [] }
}

function tooManyPictures(at: string, count: number, limit: number): ApiError {
  return invalidParam(at, `expected at most ${limit} pictures, found ${count}`, 'too_many_images')
}

/** `openCalls` contains the tool calls without a result, with their tool names. It is updated. */
function readChatMessage(
  message: Record<string, unknown>,
  role: unknown,
  at: string,
  openCalls: Map<string, string>,
): ParsedMessage {
  const content = message['content']
  switch (role) {
    case 'user': {
      const where = `${at}.content`
      const text = readText(content, where, true)
      return {
        message: { role, content: text },
        pictures: readPictures(content, where),
        recordings: readRecordings(content, where),
      }
    }
    case 'assistant': {
      const toolCalls = readToolCalls(message['tool_calls'], `${at}.tool_calls`)
      for (const call of toolCalls) openCalls.set(call.id, call.name)
      const text = content === null || content === undefined ? '' : readText(content, `${at}.content`)
      const spoken = { role, content: text, ...(toolCalls.length === 0 ? {} : { toolCalls }) }
      return { message: spoken, pictures: [], recordings: [] }
    }
    case 'tool': {
      const toolCallId = readString(message['tool_call_id'], `${at}.tool_call_id`)
      const name = openCalls.get(toolCallId)
      if (name === undefined)
        throw invalidParam(`${at}.tool_call_id`, 'no earlier assistant message has this tool call open')
      openCalls.delete(toolCallId)
      const result = { role, toolCallId, name, content: readText(content, `${at}.content`) }
      return { message: result, pictures: [], recordings: [] }
    }
    default:
      throw invalidParam(
        `${at}.role`,
        `expected system, developer, user, assistant or tool, found ${JSON.stringify(role)}`,
      )
  }
}

/** Models expect alternating roles, so consecutive messages of one role are merged. */
function appendMerged(spoken: ParsedMessage[], next: ParsedMessage): void {
  const before = spoken.at(-1)
  const { message } = next
  if (before?.message.role === 'user' && message.role === 'user') {
    const content = joinContent(before.message.content, message.content)
    spoken[spoken.length - 1] = {
      message: { role: 'user', content },
      pictures: [...before.pictures, ...next.pictures],
      recordings: [...before.recordings, ...next.recordings],
    }
  } else if (before?.message.role === 'assistant' && message.role === 'assistant') {
    const content = joinContent(before.message.content, message.content)
    spoken[spoken.length - 1] = { message: { ...message, content }, pictures: [], recordings: [] }
  } else spoken.push(next)
}

/** Appends instead of joining, because joining thousands of messages would take quadratic time. */
function joinContent(a: string, b: string): string {
  return a === '' || b === '' ? a + b : `${a}\n\n${b}`
}

/** A string, or a list of text parts. */
function readText(content: unknown, at: string, ofUser = false): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalidParam(at, 'expected a string or a list of content parts')
  return content.map((part: unknown, index) => readPart(part, `${at}[${index}]`, ofUser)).join('')
}

function readPart(part: unknown, at: string, ofUser: boolean): string {
  const type = isRecord(part) ? part['type'] : undefined
  if (!isRecord(part) || typeof type !== 'string') throw invalidParam(at, 'expected a content part with a type')
  if (type === 'text') return readString(part['text'], `${at}.text`)
  if (type === 'refusal') return readString(part['refusal'], `${at}.refusal`)
  if (ofUser && (type === 'image_url' || type === 'input_audio')) return ''
  throw invalidParam(
    `${at}.type`,
    `parts of type ${JSON.stringify(type)} are not supported here, only ${ofUser ? 'text, image_url and input_audio' : 'text'}`,
    'unsupported_value',
  )
}

function readPictures(content: unknown, at: string): PictureReference[] {
  if (!Array.isArray(content)) return []
  const pictures = content.flatMap((part: unknown, index) =>
    isRecord(part) && part['type'] === 'image_url' ? [readPicture(part, `${at}[${index}].image_url`)] : [],
  )
  if (pictures.length > maxPictures) throw tooManyPictures(at, pictures.length, maxPictures)
  return pictures
}

/** `format` is not needed: the content says it. */
function readRecordings(content: unknown, at: string): Recording[] {
  if (!Array.isArray(content)) return []
  const recordings = content.flatMap((part: unknown, index): Recording[] => {
    if (!isRecord(part) || part['type'] !== 'input_audio') return []
    const where = `${at}[${index}].input_audio`
    const audio = part['input_audio']
    if (!isRecord(audio)) throw invalidParam(where, 'expected an object with data and format')
    return [{ at: `${where}.data`, base64: readString(audio['data'], `${where}.data`) }]
  })
  if (recordings.length <= maxRecordings) return recordings
  throw invalidParam(
    at,
    `expected at most ${maxRecordings} recordings, found ${recordings.length}`,
    'too_many_recordings',
  )
}

/** `detail` is checked and has no effect: the vendor of the model chooses the resolution. */
function readPicture(part: Record<string, unknown>, at: string): PictureReference {
  const given = part['image_url']
  // Some clients send the address alone, as in other APIs of OpenAI.
  const picture = typeof given === 'string' ? { url: given } : given
  if (!isRecord(picture)) throw invalidParam(at, 'expected an object with a url')
  const { url, detail = 'auto' } = picture
  if (detail !== 'auto' && detail !== 'low' && detail !== 'high')
    throw invalidParam(`${at}.detail`, 'expected auto, low or high')
  const address = readString(url, `${at}.url`)
  if (!/^(?:data:|https?:\/\/)/i.test(address))
    throw invalidParam(`${at}.url`, 'expected a data: URL or an https address', 'invalid_image_url')
  return { at: `${at}.url`, url: address }
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
