/**
 * The demonstration: stands in for a model when none is configured. Offline and deterministic, in the chat format, so
 * that a newcomer sees the whole route without a key.
 */
import type { JsonObject, ModelRequest, Provider } from '../provider.ts'
import { abortReason } from './call-watch.ts'
import { createChatAggregate } from './chat-aggregate.ts'
import { readChatAnswer, readChatDelta } from './chat-answer.ts'
import { buildChatRequest } from './chat-request.ts'
import { collectorOf } from './collector.ts'
import { demoReply } from './demo-script.ts'
import { defaultLimits } from './stream-call.ts'

export interface DemoDeps {
  /** Waited for between two chunks, so that a person sees the answer grow. Without it the chunks come at once. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

export const DEMO_MODEL = 'demo'

const PAUSE_MS = 25
/** However long the answer, it is not cut into more pieces, so that it is shown within a few seconds. */
const MAX_PIECES = 150

export function createDemo(deps: DemoDeps = {}): Provider {
  return {
    name: 'demo',
    apiMode: 'chat_completions',
    baseUrl: '',
    buildRequest: (input) => buildChatRequest({ ...input, model: input.model || DEMO_MODEL }, true),
    stream: (request, signal) => play(request, signal, deps),
    collector: () => collectorOf(createChatAggregate(defaultLimits.maxChars)),
    readDelta: readChatDelta,
    readAnswer: readChatAnswer,
  }
}

async function* play(
  request: ModelRequest,
  signal: AbortSignal,
  { pause }: DemoDeps,
): AsyncGenerator<JsonObject, JsonObject, void> {
  const aggregate = createChatAggregate(defaultLimits.maxChars)
  for (const chunk of chunksFor(request)) {
    if (signal.aborted) throw abortReason(signal)
    aggregate.add(chunk)
    yield chunk
    await pause?.(PAUSE_MS, signal)
  }
  if (signal.aborted) throw abortReason(signal)
  aggregate.mark()
  return aggregate.result() ?? {}
}

function chunksFor(request: ModelRequest): JsonObject[] {
  const reply = demoReply(request)
  // Calls are told apart by their place in the conversation: the same conversation gives the same id.
  const place = Array.isArray(request['messages']) ? request['messages'].length : 0
  const chunk = (choices: unknown, rest: JsonObject = {}): JsonObject => ({
    id: `demo-${place}`,
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
            id: `demo_call_${place}`,
            type: 'function',
            function: { name: reply.name, arguments: JSON.stringify(reply.arguments) },
          },
        ]
      : []
  return [
    ...pieces(reply.text).map((content) => delta({ content })),
    ...calls.map((call) => delta({ tool_calls: [call] })),
    delta({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    chunk([], { usage: usageOf(JSON.stringify(request['messages'] ?? []), reply.text) }),
  ]
}

/** Word by word; a long text in larger pieces. */
function pieces(text: string): string[] {
  const words = text.match(/\s*\S+\s*$|\s*\S+/g) ?? []
  const size = Math.ceil(words.length / MAX_PIECES)
  const result: string[] = []
  for (let at = 0; at < words.length; at += size) result.push(words.slice(at, at + size).join(''))
  return result
}

/** Four characters to a token, which is about what models count. */
function usageOf(prompt: string, answer: string): JsonObject {
  const [input, output] = [Math.ceil(prompt.length / 4), Math.ceil(answer.length / 4)]
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}
