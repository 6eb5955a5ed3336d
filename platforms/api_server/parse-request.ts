/**
 * Parses and validates the body and headers of `POST /v1/chat/completions`. Pure.
 *
 * Options that a client relies on are refused (several choices, forced tool calls, a JSON schema, spoken answers). Options that tune
 * a model are ignored, because the agent has its own configuration: `model` is echoed, and temperature, penalties, token
 * limits and `tools` have no effect.
 */
import { isRecord } from '#sdk'
import { invalidParam } from './errors.ts'
import { readBoolean, readString } from './payload.ts'
import { parseBody, type RequestHeaders, readHeaders } from './read-headers.ts'
import { type ParsedMessages, readMessages } from './read-messages.ts'

export interface ChatRequest extends ParsedMessages, RequestHeaders {
  readonly stream: boolean
  /** The stream ends with a chunk that contains the token usage. */
  readonly includeUsage: boolean
  /** The model that the client named. */
  readonly model: string | undefined
}

/** Throws `ApiError` 400 with the name of the field. */
export function parseChatRequest(bytes: Uint8Array, headers: Headers): ChatRequest {
  const body = parseBody(bytes)
  rejectUnsupported(body)
  const stream = readBoolean(body['stream'], 'stream')
  return {
    ...readMessages(body['messages']),
    stream,
    includeUsage: stream && readIncludeUsage(body['stream_options']),
    model: body['model'] === undefined ? undefined : readString(body['model'], 'model'),
    ...readHeaders(headers),
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
