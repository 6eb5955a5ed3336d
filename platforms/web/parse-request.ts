/**
 * What a page may ask, read from the request into exact values. Each problem names the field, what was expected and
 * what was found.
 */
import { HermesError } from '#sdk'

/** A message as a page sends it. `id` is made by the page and makes a repeated request harmless. */
export interface SentMessage {
  readonly chat: string
  readonly id: string
  readonly text: string
}

const chatIdPattern = /^[A-Za-z0-9_-]{1,64}$/
const messageIdPattern = /^[A-Za-z0-9_-]{8,64}$/
const entryIdPattern = /^[\x21-\x7e]{1,200}$/

/** The chat id of an address. Throws `http/bad-request`. */
export function parseChatId(value: unknown): string {
  return requireMatch('chat', value, chatIdPattern, '1 to 64 of A-Z a-z 0-9 _ -')
}

/** An entry id from an address; undefined where there is none. Throws `http/bad-request`. */
export function parseEntryId(field: string, value: string | null): string | undefined {
  return value === null || value === '' ? undefined : requireMatch(field, value, entryIdPattern, 'the id of an entry')
}

/** Throws `http/bad-request`. */
export async function parseSentMessage(request: Request): Promise<SentMessage> {
  const body = await parseObject(request)
  const chat = parseChatId(body.get('chat'))
  const id = requireMatch('id', body.get('id'), messageIdPattern, '8 to 64 of A-Z a-z 0-9 _ -')
  const text = body.get('text')
  if (typeof text !== 'string') throw unexpectedValue('text', 'a string', text)
  // Halves of a surrogate pair cannot be stored as UTF-8.
  const clean = text.toWellFormed().trim()
  if (clean === '') throw unexpectedValue('text', 'at least one character', text)
  return { chat, id, text: clean }
}

/** The chat that a body names. Throws `http/bad-request`. */
export async function parseChatIdBody(request: Request): Promise<string> {
  return parseChatId((await parseObject(request)).get('chat'))
}

async function parseObject(request: Request): Promise<Map<string, unknown>> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.startsWith('application/json')) throw unexpectedValue('content-type', 'application/json', type)
  const body = await request.text()
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (error) {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw unexpectedValue('the body', 'an object', value)
  }
  return new Map(Object.entries(value))
}

function requireMatch(field: string, value: unknown, pattern: RegExp, expected: string): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw unexpectedValue(field, expected, value)
  return value
}

function unexpectedValue(field: string, expected: string, found: unknown): HermesError {
  return new HermesError('http/bad-request', `${field}: expected ${expected}, found ${describeValue(found)}.`)
}

/** Short, and never unfolded: a stranger may nest a value deeper than any printer survives. */
function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value).slice(0, 80)
  return Array.isArray(value) ? 'a list' : 'an object'
}
