/**
 * Parses and validates the body and headers of `POST /v1/responses` and `POST /v1/runs`. Pure. It refuses options
 * that a client relies on, and ignores options that tune a model, like chat completions do.
 */
import { isRecord } from '#sdk'
import { invalidParam } from './errors.ts'
import { readBoolean, readString } from './payload.ts'
import { checkSessionId, parseBody, type RequestHeaders, readHeaders } from './read-headers.ts'
import { readInput } from './read-input.ts'
import type { ParsedMessages } from './read-messages.ts'

export interface ExchangeRequest extends ParsedMessages, RequestHeaders {
  /** `undefined`: those of the conversation that it continues. */
  readonly givenInstructions: string | undefined
  readonly previousId: string | undefined
  /** Whether `sessionId` was named as a conversation. */
  readonly conversation: string | undefined
  readonly stream: boolean
  readonly store: boolean
  readonly model: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  /** Whether the client answers questions of the turn. */
  readonly asks: boolean
}

/** Throws `ApiError` 400 with the name of the field. */
export function parseExchangeRequest(kind: 'response' | 'run', bytes: Uint8Array, all: Headers): ExchangeRequest {
  const body = parseBody(bytes)
  rejectUnsupported(body)
  const headers = readHeaders(all)
  const parsed = readInput(withHistory(body))
  const instructions = optional(body, 'instructions')
  const given = [instructions ?? '', parsed.instructions].filter((text) => text !== '').join('\n\n')
  const conversation = kind === 'run' ? namedSession(body, 'session_id') : namedConversation(body['conversation'])
  const previousId = optional(body, 'previous_response_id')
  if (conversation !== undefined && previousId !== undefined)
    throw invalidParam('previous_response_id', 'name either the conversation or the previous response')
  if (conversation !== undefined && headers.sessionId !== undefined && conversation !== headers.sessionId)
    throw invalidParam('x-hermes-session-id', 'the conversation of the body has another name')
  return {
    ...parsed,
    ...headers,
    sessionId: conversation ?? headers.sessionId,
    conversation,
    previousId,
    givenInstructions: instructions === undefined && given === '' ? undefined : given,
    stream: readBoolean(body['stream'], 'stream'),
    store: body['store'] === undefined || body['store'] === null || readBoolean(body['store'], 'store'),
    model: optional(body, 'model'),
    metadata: readMetadata(body['metadata']),
    asks: kind === 'run' && readBoolean(body['attended'] ?? true, 'attended'),
  }
}

/** `conversation_history` of Hermes: the messages before the input. */
function withHistory({ input, conversation_history: history }: Record<string, unknown>): unknown {
  if (history === undefined || history === null) return input
  if (!Array.isArray(history)) throw invalidParam('conversation_history', 'expected a list of messages')
  return [...history, ...(Array.isArray(input) ? input : [{ role: 'user', content: input }])]
}

function optional(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name]
  return value === undefined || value === null ? undefined : readString(value, name)
}

function namedSession(body: Record<string, unknown>, name: string): string | undefined {
  const value = optional(body, name)
  return value === undefined ? undefined : checkSessionId(value, name)
}

function namedConversation(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const name = isRecord(value) ? readString(value['id'], 'conversation.id') : readString(value, 'conversation')
  return checkSessionId(name, 'conversation')
}

function readMetadata(value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {}
  if (!isRecord(value)) throw invalidParam('metadata', 'expected an object')
  const entries = Object.entries(value)
  if (entries.length > 16) throw invalidParam('metadata', `expected at most 16 entries, found ${entries.length}`)
  return Object.fromEntries(
    entries.map(([name, text]) => {
      const entry = readString(text, `metadata.${name.slice(0, 64)}`)
      if (name.length > 64 || entry.length > 512)
        throw invalidParam('metadata', 'expected names of at most 64 and values of at most 512 characters')
      return [name, entry]
    }),
  )
}

function rejectUnsupported(body: Record<string, unknown>): void {
  const refuse = (param: string, message: string) => invalidParam(param, message, 'unsupported_value')
  const { text, tool_choice: choice, background, prompt } = body
  const format = isRecord(text) ? text['format'] : undefined
  if (isRecord(format) && format['type'] !== 'text')
    throw refuse('text.format', 'the agent replies with text; request JSON in the message')
  if (choice === 'required' || isRecord(choice))
    throw refuse('tool_choice', "the agent uses its own tools; the client's cannot be called")
  if (background === true) throw refuse('background', 'use POST /v1/runs for work that no client waits for')
  if (prompt !== undefined && prompt !== null)
    throw refuse('prompt', 'the gateway has no stored prompts; send the text as instructions')
}
