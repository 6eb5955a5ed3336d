/**
 * A local server with OpenAI's wire format: `/v1/chat/completions` and `/v1/responses`, streamed.
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

export function startOpenAiServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  return startModelServer({ basePath: '/v1', encode, encodeError }, options)
}

function encode(reply: ModelReply, request: RecordedRequest): readonly string[] | undefined {
  if (request.path === '/v1/chat/completions') return chatFrames(reply, request)
  return request.path === '/v1/responses' ? responsesFrames(reply, request) : undefined
}

function encodeError(status: number, message: string): JsonObject {
  const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error'
  return { error: { message, type, param: null, code: null } }
}

function chatFrames(reply: ModelReply, request: RecordedRequest): string[] {
  const chunk = (choices: readonly unknown[], rest: JsonObject = {}): string =>
    sseFrame({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: request.body['model'],
      ...reply.extra,
      choices,
      ...rest,
    })
  const delta = (fields: JsonObject): string => chunk([{ index: 0, delta: fields, finish_reason: null }])
  const calls = (reply.toolCalls ?? []).flatMap((call, index) => {
    const [first, second] = splitArguments(call)
    const id = call.id ?? `call_${index}`
    return [
      delta({ tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: first } }] }),
      delta({ tool_calls: [{ index, function: { arguments: second } }] }),
    ]
  })
  const finish = reply.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  const usage = usageOf(reply)
  return [
    delta({ role: 'assistant', content: '' }),
    ...splitIntoChunks(reply.reasoning ?? '').map((text) => delta({ reasoning_content: text })),
    ...splitIntoChunks(reply.text ?? '').map((text) => delta({ content: text })),
    ...calls,
    ...(reply.streamError === undefined ? [] : [sseFrame({ error: reply.streamError })]),
    chunk([{ index: 0, delta: {}, finish_reason: finish }]),
    chunk([], {
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        prompt_tokens_details: { cached_tokens: usage.cached },
        ...(reply.usage?.cost === undefined ? {} : { cost: reply.usage.cost }),
      },
    }),
    'data: [DONE]\n\n',
  ]
}

function responsesFrames(reply: ModelReply, request: RecordedRequest): string[] {
  let sequence = 0
  const event = (type: string, fields: JsonObject): string => {
    sequence += 1
    return sseFrame({ type, sequence_number: sequence, ...fields }, type)
  }
  const output = outputItems(reply)
  const base = {
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    model: request.body['model'],
    ...reply.extra,
  }
  const usage = usageOf(reply)
  const isCut = reply.finishReason === 'length'
  const items = output.flatMap((item, at) => {
    const done = event('response.output_item.done', { output_index: at, item })
    return [
      event('response.output_item.added', { output_index: at, item: { ...item, status: 'in_progress' } }),
      ...itemEvents(item, at, reply, event),
      done,
    ]
  })
  return [
    event('response.created', { response: { ...base, status: 'in_progress', output: [] } }),
    ...items,
    ...(reply.streamError === undefined
      ? []
      : [event('error', { code: reply.streamError.type, message: reply.streamError.message, param: null })]),
    event(isCut ? 'response.incomplete' : 'response.completed', {
      response: {
        ...base,
        status: isCut ? 'incomplete' : 'completed',
        incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
        error: null,
        output,
        usage: {
          input_tokens: usage.input,
          input_tokens_details: { cached_tokens: usage.cached },
          output_tokens: usage.output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: usage.input + usage.output,
        },
      },
    }),
  ]
}

function outputItems(reply: ModelReply): JsonObject[] {
  const reasoning = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: reply.reasoning ?? '' }],
    encrypted_content: 'sealed-reasoning',
  }
  const message = {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: reply.text ?? '', annotations: [] }],
  }
  const calls = (reply.toolCalls ?? []).map((call, index) => ({
    type: 'function_call',
    id: `fc_${index}`,
    status: 'completed',
    call_id: call.id ?? `call_${index}`,
    name: call.name,
    arguments: splitArguments(call).join(''),
  }))
  return [
    ...(reply.reasoning === undefined ? [] : [reasoning]),
    ...(reply.text === undefined && calls.length > 0 ? [] : [message]),
    ...calls,
  ]
}

function itemEvents(
  item: JsonObject,
  at: number,
  reply: ModelReply,
  event: (type: string, fields: JsonObject) => string,
): string[] {
  const place = { item_id: item['id'], output_index: at }
  if (item['type'] === 'reasoning') {
    return splitIntoChunks(reply.reasoning ?? '').map((delta) =>
      event('response.reasoning_summary_text.delta', { ...place, summary_index: 0, delta }),
    )
  }
  if (item['type'] === 'message') {
    return splitIntoChunks(reply.text ?? '').map((delta) =>
      event('response.output_text.delta', { ...place, content_index: 0, delta }),
    )
  }
  return [event('response.function_call_arguments.delta', { ...place, delta: item['arguments'] })]
}

function usageOf(reply: ModelReply): { input: number; output: number; cached: number } {
  return { input: reply.usage?.input ?? 11, output: reply.usage?.output ?? 7, cached: reply.usage?.cached ?? 3 }
}
