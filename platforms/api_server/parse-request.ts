/**
 * Parses and validates the body and headers of `POST /v1/chat/completions`. Pure.
 *
 * Options that a client relies on are refused (several choices, forced tool calls, a JSON schema, spoken answers). Options that tune
 * a model are ignored, because the agent has its own configuration: `model` is echoed, and temperature, penalties, token
 * limits and `tools` have no effect.
 */
import { isRecord, isTooComplex } from '#sdk'
import { ApiError, invalidParam } from './errors.ts'
import { readBoolean, readString } from './payload.ts'
import { type ParsedMessages, readMessages } from './read-messages.ts'

export interface ChatRequest extends ParsedMessages {
  readonly stream: boolean
  /** The stream ends with a chunk that contains the token usage. */
  readonly includeUsage: boolean
  /** The model that the client named. */
  readonly model: string | undefined
  /** `X-Hermes-Session-Id`: the session to continue. */
  readonly sessionId: string | undefined
  /** `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined
}

/** Throws `ApiError` 400 with the name of the field. */
export function parseChatRequest(bytes: Uint8Array, headers: Headers): ChatRequest {
  const body = parseJson(bytes)
  if (!isRecord(body)) throw new ApiError(400, 'The body must be a JSON object.', { code: 'invalid_json' })
  rejectUnsupported(body)
  const stream = readBoolean(body['stream'], 'stream')
  return {
    ...readMessages(body['messages']),
    stream,
    includeUsage: stream && readIncludeUsage(body['stream_options']),
    model: body['model'] === undefined ? undefined : readString(body['model'], 'model'),
    sessionId: readHeader(
      headers,
      'x-hermes-session-id',
      sessionIdPattern,
      'expected 1 to 128 letters, digits or . _ ~ @ : + = -',
    ),
    idempotencyKey: readHeader(
      headers,
      'idempotency-key',
      idempotencyKeyPattern,
      'expected 1 to 255 visible ASCII characters',
    ),
  }
}

const sessionIdPattern = /^[A-Za-z0-9._~@:+=-]{1,128}$/
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/

function readHeader(headers: Headers, name: string, pattern: RegExp, expected: string): string | undefined {
  const value = headers.get(name)
  if (value === null) return undefined
  if (!pattern.test(value)) throw invalidParam(name, expected)
  return value
}

function parseJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ApiError(400, 'The body is not valid UTF-8.', { code: 'invalid_json', cause })
  }
  if (isTooComplex(text))
    throw new ApiError(400, 'The body has more than 100,000 keys or 1,000 levels.', { code: 'invalid_json' })
  try {
    return JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : ''
    throw new ApiError(400, `The body is not valid JSON: ${reason}`, { code: 'invalid_json', cause })
  }
}

function readIncludeUsage(options: unknown): boolean {
  if (options === undefined || options === null) return false
  if (!isRecord(options)) throw invalidParam('stream_options', 'expected an object')
  return readBoolean(options['include_usage'], 'stream_options.include_usage')
}

function rejectUnsupported(body: Record<string, unknown>): void {
  const refuse = (param: string, message: string) => invalidParam(param, message, 'unsupported_value')
  const { n, response_format: format, tool_choice: choice, modalities } = body
  if (typeof n === 'number' && n !== 1) throw refuse('n', 'the agent returns one choice')
  if (isRecord(format) && format['type'] !== 'text') {
    throw refuse('response_format', 'the agent replies with text; request JSON in the message')
  }
  if (choice === 'required' || isRecord(choice)) {
    throw refuse('tool_choice', "the agent uses its own tools; the client's cannot be called")
  }
  if (Array.isArray(modalities) && modalities.some((kind) => kind !== 'text')) {
    throw refuse('modalities', 'the agent replies with text')
  }
}
