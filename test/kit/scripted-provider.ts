/**
 * A model whose answers are written down beforehand. It honours the provider contract: it streams, aborts by throwing
 * and remembers what it was asked.
 */
import {
  type Delta,
  type JsonObject,
  type ModelAnswer,
  ModelError,
  type Provider,
  type RequestInput,
} from '../../src/agent/provider.ts'
import type { ToolCall } from '../../src/message/transcript.ts'

/** One answer: `chunks` are streamed in this order; `calls` are the tools it asks for. */
export interface ScriptedAnswer {
  readonly chunks?: readonly string[]
  readonly calls?: readonly ToolCall[]
  readonly finishReason?: string
  readonly providerItems?: readonly unknown[]
}

/** `hang`: streams its chunks and then says nothing until it is aborted. */
export type ScriptStep = ScriptedAnswer | { readonly chunks?: readonly string[]; readonly hang: true } | Error

export interface ScriptedProvider extends Provider {
  /** What each call was built from, in order. */
  readonly asked: readonly RequestInput[]
  /** Calls that reached the wire, failed ones too. */
  calls(): number
  /** Resolves when the step that hangs has streamed its chunks. */
  readonly hanging: Promise<void>
}

export const usagePerCall = { inputTokens: 10, outputTokens: 3, cachedInputTokens: 0, cacheWriteTokens: 0 }

export function call(id: string, name: string, args: unknown = {}): ToolCall {
  return { id, name, arguments: JSON.stringify(args) }
}

/** Answers the script step by step; asking for more than the script holds is an error of the test. */
export function scriptedProvider(script: readonly ScriptStep[]): ScriptedProvider {
  const asked: RequestInput[] = []
  const hanging = Promise.withResolvers<void>()
  const answers: ModelAnswer[] = []
  let next = 0

  async function* stream(_request: unknown, signal: AbortSignal): AsyncGenerator<JsonObject, JsonObject, void> {
    signal.throwIfAborted()
    const step = script[next++]
    if (step === undefined) throw new Error(`the script has no answer for call ${next}`)
    if (step instanceof Error) throw step
    for (const text of step.chunks ?? []) {
      yield { text }
      signal.throwIfAborted()
    }
    if ('hang' in step) {
      hanging.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    }
    answers.push(answerOf(step))
    return { answer: answers.length - 1 }
  }

  return {
    name: 'scripted',
    apiMode: 'chat_completions',
    baseUrl: 'http://127.0.0.1',
    buildRequest(input) {
      asked.push({ ...input, messages: [...input.messages] })
      return { model: input.model, stream: true }
    },
    stream,
    readDelta: ({ text }): Delta | null => (typeof text === 'string' ? { kind: 'text', text } : null),
    readAnswer({ answer }) {
      const found = typeof answer === 'number' ? answers[answer] : undefined
      if (found === undefined) throw new ModelError('bad-response', 'this is not an answer of the script')
      return found
    },
    asked,
    calls: () => next,
    hanging: hanging.promise,
  }
}

function answerOf(step: ScriptedAnswer): ModelAnswer {
  const { chunks = [], calls = [], providerItems } = step
  return {
    text: chunks.join(''),
    toolCalls: calls,
    usage: usagePerCall,
    finishReason: step.finishReason ?? (calls.length === 0 ? 'stop' : 'tool_calls'),
    ...(providerItems === undefined ? {} : { providerItems }),
  }
}
