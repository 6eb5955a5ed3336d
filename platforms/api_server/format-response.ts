/**
 * Creates responses in OpenAI's formats: completions, chunks, the list of models, server-sent events. Pure.
 */
import type { TurnResult } from '#sdk'

export interface Completion {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  readonly model: string
}

export function chatCompletion({ id, created, model }: Completion, { text, usage, cutOff }: TurnResult): unknown {
  const message = { role: 'assistant', content: text, refusal: null }
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: cutOff ?? 'stop' }],
    usage: tokenUsage(usage),
  }
}

export type FinishReason = 'stop' | NonNullable<TurnResult['cutOff']>

export interface CompletionDelta {
  readonly role?: 'assistant'
  readonly content?: string
}

export function completionChunk(
  { id, created, model }: Completion,
  delta: CompletionDelta,
  finishReason: FinishReason | null = null,
): object {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }]
  return { id, object: 'chat.completion.chunk', created, model, choices }
}

/** The last chunk of a stream with `include_usage`. */
export function usageChunk(completion: Completion, usage: TurnResult['usage']): object {
  return { ...completionChunk(completion, {}), choices: [], usage: tokenUsage(usage) }
}

function tokenUsage({ inputTokens, outputTokens }: TurnResult['usage']): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
}

export interface ToolProgress {
  readonly tool: string
  readonly label: string
  readonly toolCallId: string
  readonly status: 'running' | 'completed' | 'failed'
}

/**
 * `event: hermes.tool.progress`. Its data is an empty chunk with additional fields. Clients that ignore the event name read
 * an empty chunk.
 */
export function toolProgressEvent(completion: Completion, progress: ToolProgress): string {
  return sseEvent({ ...completionChunk(completion, {}), emoji: '🔧', ...progress }, 'hermes.tool.progress')
}

export function sseEvent(data: unknown, event?: string): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  return `${name}data: ${JSON.stringify(data)}\n\n`
}

export const sseDone = 'data: [DONE]\n\n'
export const sseKeepAlive = ': keep-alive\n\n'

/** One model: the configured one. */
export function modelList(model: string, created: number): unknown {
  return { object: 'list', data: [modelEntry(model, created)] }
}

export function modelEntry(model: string, created: number): unknown {
  return { id: model, object: 'model', created, owned_by: 'hermes-gateway' }
}
