/**
 * A provider with scripted responses. It keeps the provider contract and records its requests.
 */
import { z } from 'zod'
import { ModelError, type Provider, type RequestInput, type TextDelta } from '../../src/agent/models/provider.ts'
import type { ModelRequest } from '../../src/agent/support/model-request.ts'
import type { JsonObject } from '../../src/lib/json.ts'
import type { ToolCall } from '../../src/message/transcript.ts'
import type { ChunkCollector } from '../../src/middleware/managed-call.ts'

/** One response: `chunks` are streamed in this order, `calls` are its tool calls. */
export interface ScriptedAnswer {
  readonly chunks?: readonly string[]
  readonly calls?: readonly ToolCall[]
  readonly finishReason?: string
  readonly providerItems?: readonly unknown[]
}

/** `hang`: streams its chunks, then waits until it is aborted. */
export type ScriptStep = ScriptedAnswer | { readonly chunks?: readonly string[]; readonly hang: true } | Error

export interface ScriptedProvider extends Provider {
  /** The input of each call, in order. */
  readonly requests: readonly RequestInput[]
  /** The requests of `stream`, in order. */
  readonly sent: readonly ModelRequest[]
  /** Number of calls of `stream`, including failed ones. */
  calls(): number
  /** Resolves when a hanging step has streamed its chunks. */
  readonly hanging: Promise<void>
}

export const usagePerCall = { inputTokens: 10, outputTokens: 3, cachedInputTokens: 0, cacheWriteTokens: 0 }

export function call(id: string, name: string, args: unknown = {}): ToolCall {
  return { id, name, arguments: JSON.stringify(args) }
}

/** Responds with one step of the script per call. A call after the last step throws. */
export function scriptedProvider(script: readonly ScriptStep[]): ScriptedProvider {
  const requests: RequestInput[] = []
  const sent: ModelRequest[] = []
  const hanging = Promise.withResolvers<void>()
  let next = 0

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<JsonObject, JsonObject, void> {
    signal.throwIfAborted()
    sent.push(request)
    const step = script[next++]
    if (step === undefined) throw new Error(`the script has no step for call ${next}`)
    if (step instanceof Error) throw step
    const collector = createCollector()
    for (const text of step.chunks ?? []) {
      collector.add({ text })
      yield { text }
      signal.throwIfAborted()
    }
    if ('hang' in step) {
      hanging.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    }
    const { calls = [], finishReason, providerItems } = 'hang' in step ? {} : step
    const end = { end: { calls, finishReason, providerItems } }
    collector.add(end)
    yield end
    return collector.finish()
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
      if (!parsed.success) throw new ModelError('bad-response', 'not a scripted response')
      const { text, calls: toolCalls, finishReason, providerItems } = parsed.data
      return {
        text,
        toolCalls,
        usage: usagePerCall,
        finishReason: finishReason ?? (toolCalls.length === 0 ? 'stop' : 'tool_calls'),
        providerItems,
      }
    },
    requests,
    sent,
    calls: () => next,
    hanging: hanging.promise,
  }
}

/** The format of scripted responses. */
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
