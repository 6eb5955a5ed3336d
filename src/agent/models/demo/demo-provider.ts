/**
 * The demonstration provider, used when no model is configured. Offline and deterministic, in the format of Chat
 * Completions, so that a new user can try the gateway without a key.
 */

import type { JsonObject } from '../../../lib/json.ts'
import type { ModelRequest } from '../../support/model-request.ts'
import { createChunkCollector } from '../chunk-collector.ts'
import { createChatFormat } from '../openai/chat-completions.ts'
import type { Provider } from '../provider.ts'
import { defaultStreamLimits } from '../provider-options.ts'
import { toAbortError } from '../streaming-provider.ts'
import { chooseDemoReply } from './demo-script.ts'

export const DEMO_MODEL = 'demo'

const CHUNK_DELAY_MS = 25
/** Limits the number of delays, so that a long reply is complete within a few seconds. */
const MAX_TEXT_CHUNKS = 150

const format = createChatFormat({})
const createAggregator = () => format.createAggregator(defaultStreamLimits.maxChars)

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** @param sleep delays each chunk, so that the live view shows the reply growing; without it all chunks are sent at once */
export function createDemoProvider(sleep?: Sleep): Provider {
  return {
    name: 'demo',
    apiMode: format.apiMode,
    baseUrl: '',
    prices: { '*': { input: 0, cachedInput: 0, cacheWrite: 0, output: 0 } },
    buildRequest: (input) => format.buildRequest({ ...input, model: input.model || DEMO_MODEL }),
    stream: (request, signal) => streamDemoReply(request, signal, sleep),
    createCollector: () => createChunkCollector(createAggregator()),
    parseDelta: format.parseDelta,
    parseResponse: format.parseResponse,
  }
}

async function* streamDemoReply(
  request: ModelRequest,
  signal: AbortSignal,
  sleep: Sleep | undefined,
): AsyncGenerator<JsonObject, JsonObject, void> {
  const aggregator = createAggregator()
  for (const chunk of buildChunks(request)) {
    if (signal.aborted) throw toAbortError(signal)
    aggregator.add(chunk)
    yield chunk
    await sleep?.(CHUNK_DELAY_MS, signal)
  }
  if (signal.aborted) throw toAbortError(signal)
  aggregator.markDone()
  return aggregator.result() ?? {}
}

function buildChunks(request: ModelRequest): JsonObject[] {
  const reply = chooseDemoReply(request)
  // The ids depend only on the length of the conversation, so that the same conversation gives the same ids.
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

/** Splits into words; a long text into larger pieces. */
function splitText(text: string): string[] {
  const words = text.match(/\s*\S+\s*$|\s*\S+/g) ?? []
  const size = Math.ceil(words.length / MAX_TEXT_CHUNKS)
  const result: string[] = []
  for (let at = 0; at < words.length; at += size) result.push(words.slice(at, at + size).join(''))
  return result
}

/** Estimates four characters per token. */
function estimateUsage(prompt: string, reply: string): JsonObject {
  const [input, output] = [Math.ceil(prompt.length / 4), Math.ceil(reply.length / 4)]
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}
