/**
 * Creates response objects and their output in the format of OpenAI's Responses API. Pure.
 */
import type { TurnResult } from '#sdk'
import type { Exchange } from './exchanges.ts'
import { toFailure } from './turn-requests.ts'

export interface OutputMessage {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly status: 'in_progress' | 'completed' | 'incomplete'
  readonly phase: 'commentary' | 'final_answer'
  readonly content: readonly OutputText[]
}

export interface OutputText {
  readonly type: 'output_text'
  readonly text: string
  readonly annotations: readonly never[]
  readonly logprobs: readonly never[]
}

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

export function statusOf(result: TurnResult | undefined): ResponseStatus {
  if (result === undefined) return 'in_progress'
  if (result.status === 'done') return result.cutOff === undefined ? 'completed' : 'incomplete'
  return result.status === 'failed' ? 'failed' : 'cancelled'
}

/** @param earlier the output before the answer, as it was streamed */
export function responseObject(
  exchange: Exchange,
  result: TurnResult | undefined,
  earlier: readonly OutputMessage[] = [],
): Record<string, unknown> {
  const { id, createdAt, instructions, metadata, model, previousId, conversation, stored } = exchange
  const status = statusOf(result)
  const failure = status === 'failed' && result !== undefined ? toFailure(result) : undefined
  const cutOff = result?.cutOff
  const hasAnswer = status === 'completed' || status === 'incomplete'
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status,
    background: false,
    error: failure === undefined ? null : responseError(failure),
    incomplete_details:
      status === 'incomplete' ? { reason: cutOff === 'length' ? 'max_output_tokens' : 'content_filter' } : null,
    instructions,
    max_output_tokens: null,
    metadata,
    model,
    output: hasAnswer && result !== undefined ? [...earlier, answerOf(exchange, result, earlier.length)] : earlier,
    parallel_tool_calls: true,
    previous_response_id: previousId,
    conversation: conversation === null ? null : { id: conversation },
    reasoning: { effort: null, summary: null },
    store: stored,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: result === undefined ? null : responseUsage(result.usage),
  }
}

export function responseError({ message, detail }: { message: string; detail: { type?: string } }): object {
  return { code: detail.type === 'rate_limit_error' ? 'rate_limit_exceeded' : 'server_error', message }
}

export function responseUsage({ inputTokens, outputTokens }: TurnResult['usage']): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  }
}

export function outputText(text: string): OutputText {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export function outputMessage(
  exchange: Exchange,
  index: number,
  parts: Pick<OutputMessage, 'status' | 'phase' | 'content'>,
): OutputMessage {
  return { id: `msg_${exchange.id.slice(-32)}_${index}`, type: 'message', role: 'assistant', ...parts }
}

function answerOf(exchange: Exchange, { text, cutOff }: TurnResult, index: number): OutputMessage {
  const status = cutOff === undefined ? 'completed' : 'incomplete'
  return outputMessage(exchange, index, { status, phase: 'final_answer', content: [outputText(text)] })
}
