/**
 * A model whose answers are written down beforehand. It honours the provider contract: it streams, aborts by throwing
 * and remembers what it was asked.
 */
import { z } from 'zod'
import {
  type JsonObject,
  ModelError,
  type ModelRequest,
  type Provider,
  type RequestInput,
  type TextDelta,
} from '../../src/agent/models/provider.ts'
import type { ToolCall } from '../../src/message/transcript.ts'
import type { ChunkCollector } from '../../src/middleware/contract.ts'

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
  readonly requests: readonly RequestInput[]
  /** What reached the wire, in order. */
  readonly sent: readonly ModelRequest[]
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
  const requests: RequestInput[] = []
  const sent: ModelRequest[] = []
  const hanging = Promise.withResolvers<void>()
  let next = 0

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<JsonObject, JsonObject, void> {
    signal.throwIfAborted()
    sent.push(request)
    const step = script[next++]
    if (step === undefined) throw new Error(`the script has no answer for call ${next}`)
    if (step instanceof Error) throw step
    const whole = createCollector()
    for (const text of step.chunks ?? []) {
      whole.add({ text })
      yield { text }
      signal.throwIfAborted()
    }
    if ('hang' in step) {
      hanging.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    }
    const { calls = [], finishReason, providerItems } = 'hang' in step ? {} : step
    const end = { end: { calls, finishReason, providerItems } }
    whole.add(end)
    yield end
    return whole.finish()
  }

  return {
    name: 'scripted',
    apiMode: 'chat_completions',
    baseUrl: 'http://127.0.0.1',
    buildRequest(input) {
      requests.push({ ...input, messages: [...input.messages] })
      const { model, system, messages, tools } = input
      return {
        model,
        stream: true,
        system,
        messages: [...messages],
        ...(tools.length === 0 ? {} : { tools: [...tools] }),
      }
    },
    stream,
    createCollector,
    parseDelta: ({ text }): TextDelta | null => (typeof text === 'string' ? { kind: 'text', text } : null),
    parseResponse(response) {
      const parsed = scriptedResponse.safeParse(response)
      if (!parsed.success) throw new ModelError('bad-response', 'this is not an answer of the script')
      const { text, calls: toolCalls, finishReason, providerItems } = parsed.data
      return {
        text,
        toolCalls,
        usage: usagePerCall,
        finishReason: finishReason ?? (toolCalls.length === 0 ? 'stop' : 'tool_calls'),
        ...(providerItems === undefined ? {} : { providerItems }),
      }
    },
    requests,
    sent,
    calls: () => next,
    hanging: hanging.promise,
  }
}

/** What the script's vendor answers with. */
const scriptedResponse = z.object({
  text: z.string(),
  calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })).default([]),
  finishReason: z.string().optional(),
  providerItems: z.array(z.unknown()).optional(),
})

function createCollector(): ChunkCollector<JsonObject, JsonObject> {
  let text = ''
  let end: object = {}
  return {
    add(chunk) {
      if (typeof chunk['text'] === 'string') text += chunk['text']
      if (typeof chunk['end'] === 'object' && chunk['end'] !== null) end = chunk['end']
    },
    finish: () => ({ text, ...end }),
  }
}
