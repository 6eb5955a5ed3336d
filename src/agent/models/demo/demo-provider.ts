/**
 * The demonstration: stands in for a model when none is configured. Offline and deterministic, in the chat format, so
 * that a newcomer sees the whole route without a key.
 */

import { createChunkCollector } from '../chunk-collector.ts'
import { toAbortError } from '../idle-timeout.ts'
import { createChatAggregator } from '../openai/chat-aggregator.ts'
import { buildChatRequest } from '../openai/chat-request.ts'
import { parseChatDelta, parseChatResponse } from '../openai/chat-response.ts'
import type { JsonObject, ModelRequest, Provider } from '../provider.ts'
import { defaultStreamLimits } from '../stream-response.ts'
import { chooseDemoReply } from './demo-script.ts'

export interface DemoDeps {
  /** Waited for between two chunks, so that a person sees the answer grow. Without it the chunks come at once. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

export const DEMO_MODEL = 'demo'

const CHUNK_DELAY_MS = 25
/** However long the answer, it is not cut into more pieces, so that it is shown within a few seconds. */
const MAX_TEXT_CHUNKS = 150

export function createDemoProvider(deps: DemoDeps = {}): Provider {
  return {
    name: 'demo',
    apiMode: 'chat_completions',
    baseUrl: '',
    buildRequest: (input) => buildChatRequest({ ...input, model: input.model || DEMO_MODEL }, true),
    stream: (request, signal) => streamDemoReply(request, signal, deps),
    createCollector: () => createChunkCollector(createChatAggregator(defaultStreamLimits.maxChars)),
    parseDelta: parseChatDelta,
    parseResponse: parseChatResponse,
  }
}

async function* streamDemoReply(
  request: ModelRequest,
  signal: AbortSignal,
  { sleep }: DemoDeps,
): AsyncGenerator<JsonObject, JsonObject, void> {
  const aggregate = createChatAggregator(defaultStreamLimits.maxChars)
  for (const chunk of buildChunks(request)) {
    if (signal.aborted) throw toAbortError(signal)
    aggregate.add(chunk)
    yield chunk
    await sleep?.(CHUNK_DELAY_MS, signal)
  }
  if (signal.aborted) throw toAbortError(signal)
  aggregate.markDone()
  return aggregate.result() ?? {}
}

function buildChunks(request: ModelRequest): JsonObject[] {
  const reply = chooseDemoReply(request)
  // Calls are told apart by their place in the conversation: the same conversation gives the same id.
  const messageCount = Array.isArray(request['messages']) ? request['messages'].length : 0
  const chunk = (choices: unknown, rest: JsonObject = {}): JsonObject => ({
    id: `demo-${messageCount}`,
    object: 'chat.completion.chunk',
    created: 0,
    model: request.model,
    choices,
    ...rest,
  })
  const delta = (fields: JsonObject, finish: string | null = null): JsonObject =>
    chunk([{ index: 0, delta: fields, finish_reason: finish }])
  const calls =
    reply.kind === 'call'
      ? [
          {
            index: 0,
            id: `demo_call_${messageCount}`,
            type: 'function',
            function: { name: reply.name, arguments: JSON.stringify(reply.arguments) },
          },
        ]
      : []
  return [
    ...splitText(reply.text).map((content) => delta({ content })),
    ...calls.map((call) => delta({ tool_calls: [call] })),
    delta({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    chunk([], { usage: estimateUsage(JSON.stringify(request['messages'] ?? []), reply.text) }),
  ]
}

/** Word by word; a long text in larger pieces. */
function splitText(text: string): string[] {
  const words = text.match(/\s*\S+\s*$|\s*\S+/g) ?? []
  const size = Math.ceil(words.length / MAX_TEXT_CHUNKS)
  const result: string[] = []
  for (let at = 0; at < words.length; at += size) result.push(words.slice(at, at + size).join(''))
  return result
}

/** Four characters to a token, which is about what models count. */
function estimateUsage(prompt: string, answer: string): JsonObject {
  const [input, output] = [Math.ceil(prompt.length / 4), Math.ceil(answer.length / 4)]
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}
