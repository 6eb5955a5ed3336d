/**
 * Parses and validates requests of a page. An error names the field, the expected value and the value that was found.
 */
import { HermesError, isRecord, isTooComplex } from '#sdk'

/** A message from a page. The page creates the `id`, so that a repeated request is recognised. */
export interface SentMessage {
  readonly chat: string
  readonly id: string
  /** '' only with files. */
  readonly text: string
  /** The ids of uploads, in order. */
  readonly files: readonly string[]
}

/** Files of one message, as `GET /api/uploads` tells. */
const maxFiles = 8

const chatIdPattern = /^[A-Za-z0-9_-]{1,64}$/
const messageIdPattern = /^[A-Za-z0-9_-]{8,64}$/
const buttonIdPattern = /^[A-Za-z0-9:_-]{1,64}$/
const uploadIdPattern = /^[A-Za-z0-9_-]{16,64}$/
const callPartPattern = /^[^\p{Cc}]{1,300}$/u
const entryIdPattern = /^[\x21-\x7e]{1,200}$/

/** The chat id of a URL. Throws `http/bad-request`. */
export function parseChatId(value: unknown): string {
  return requireMatch('chat', value, chatIdPattern, '1 to 64 of A-Z a-z 0-9 _ -')
}

/** An entry id from a URL, if present. Throws `http/bad-request`. */
export function parseEntryId(field: string, value: string | null): string | undefined {
  return value === null || value === '' ? undefined : requireMatch(field, value, entryIdPattern, 'the id of an entry')
}

/** The id of a turn or of a tool call; vendors choose the latter. Throws `http/bad-request`. */
export function parseCallPart(field: 'turn' | 'call', value: string | null): string {
  return requireMatch(field, value, callPartPattern, `the id of a ${field}`)
}

/** Throws `http/bad-request`. */
export async function parseSentMessage(request: Request): Promise<SentMessage> {
  const body = await parseObject(request)
  const chat = parseChatId(body.get('chat'))
  const id = requireMatch('id', body.get('id'), messageIdPattern, '8 to 64 of A-Z a-z 0-9 _ -')
  const text = body.get('text')
  if (typeof text !== 'string') throw unexpectedValue('text', 'a string', text)
  // Lone surrogates cannot be stored as UTF-8.
  const clean = text.toWellFormed().trim()
  const files = parseFiles(body.get('files') ?? [])
  if (clean === '' && files.length === 0) throw unexpectedValue('text', 'at least one character', text)
  return { chat, id, text: clean, files }
}

function parseFiles(value: unknown): string[] {
  if (!Array.isArray(value)) throw unexpectedValue('files', 'a list of uploads', value)
  if (value.length > maxFiles)
    throw new HermesError('media/too-many', `It has ${value.length}; the limit is ${maxFiles}.`)
  return value.map((id, index) => requireMatch(`files[${index}]`, id, uploadIdPattern, 'the id of an upload'))
}

/** A pressed button of a question. */
export interface Press {
  readonly chat: string
  readonly button: string
  /** The entry that shows the button. */
  readonly entry: string
}

/** Throws `http/bad-request`. */
export async function parsePress(request: Request): Promise<Press> {
  const body = await parseObject(request)
  return {
    chat: parseChatId(body.get('chat')),
    button: requireMatch('button', body.get('button'), buttonIdPattern, 'the id of a button'),
    entry: requireMatch('entry', body.get('entry'), entryIdPattern, 'the id of an entry'),
  }
}

/** The chat id of a body. Throws `http/bad-request`. */
export async function parseChatIdBody(request: Request): Promise<string> {
  return parseChatId((await parseObject(request)).get('chat'))
}

async function parseObject(request: Request): Promise<Map<string, unknown>> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.startsWith('application/json')) throw unexpectedValue('content-type', 'application/json', type)
  const body = await request.text()
  if (isTooComplex(body)) throw new HermesError('http/bad-request', 'The body has too many keys or levels.')
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (error) {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause: error })
  }
  if (!isRecord(value)) throw unexpectedValue('the body', 'an object', value)
  return new Map(Object.entries(value))
}

function requireMatch(field: string, value: unknown, pattern: RegExp, expected: string): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw unexpectedValue(field, expected, value)
  return value
}

function unexpectedValue(field: string, expected: string, actual: unknown): HermesError {
  return new HermesError('http/bad-request', `${field}: expected ${expected}, found ${describeValue(actual)}.`)
}

/** Describes objects and lists without their content, which may be nested too deeply to print. */
function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value).slice(0, 80)
  return Array.isArray(value) ? 'a list' : 'an object'
}
