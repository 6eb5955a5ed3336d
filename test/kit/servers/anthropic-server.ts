/**
 * A local server with the wire format of Anthropic's Messages API, streamed.
 */
import {
  type JsonObject,
  type ModelReply,
  type RecordedRequest,
  splitArguments,
  splitIntoChunks,
  sseFrame,
} from './model-script.ts'
import { type ModelServer, type ModelServerOptions, startModelServer } from './sse.ts'

export function startAnthropicServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  return startModelServer({ basePath: '', encode, encodeError }, options)
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

function encodeError(status: number, message: string): JsonObject {
  return { type: 'error', error: { type: ERROR_TYPES[status] ?? 'api_error', message } }
}

function encode(reply: ModelReply, request: RecordedRequest): readonly string[] | undefined {
  if (request.path !== '/v1/messages') return undefined
  const event = (type: string, fields: JsonObject): string => sseFrame({ type, ...fields }, type)
  const calls = reply.toolCalls ?? []
  const blocks = [
    ...(reply.reasoning === undefined ? [] : [thinkingBlock(reply.reasoning)]),
    ...(reply.text === undefined ? [] : [textBlock(reply.text)]),
    ...calls.map((call, index) => ({
      start: { type: 'tool_use', id: call.id ?? `toolu_${index}`, name: call.name, input: {} },
      deltas: ['', ...splitArguments(call)].map((json) => ({ type: 'input_json_delta', partial_json: json })),
    })),
  ]
  const input = reply.usage?.input ?? 11
  const cached = reply.usage?.cached ?? 3
  return [
    event('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: request.body['model'],
        content: [],
        stop_reason: null,
        stop_sequence: null,
        ...reply.extra,
        usage: {
          input_tokens: input - cached,
          cache_read_input_tokens: cached,
          cache_creation_input_tokens: 0,
          output_tokens: 1,
        },
      },
    }),
    event('ping', {}),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event('content_block_start', { index, content_block: start }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    ...(reply.streamError === undefined ? [] : [event('error', { error: reply.streamError })]),
    event('message_delta', {
      delta: { stop_reason: reply.finishReason ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), stop_sequence: null },
      usage: { output_tokens: reply.usage?.output ?? 7 },
    }),
    event('message_stop', {}),
  ]
}

function textBlock(text: string): { start: JsonObject; deltas: JsonObject[] } {
  return {
    start: { type: 'text', text: '' },
    deltas: splitIntoChunks(text).map((piece) => ({ type: 'text_delta', text: piece })),
  }
}

function thinkingBlock(text: string): { start: JsonObject; deltas: JsonObject[] } {
  const deltas: JsonObject[] = splitIntoChunks(text).map((piece) => ({ type: 'thinking_delta', thinking: piece }))
  return {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [...deltas, { type: 'signature_delta', signature: 'signed-thinking' }],
  }
}
