/**
 * The contract between the agent loop and a model vendor.
 *
 * A provider builds a plain request object, streams the vendor's own chunks, returns the vendor's own final JSON and
 * knows how to read both. The loop, the middleware and the tests see only these plain values.
 */

import type { JsonObject } from '../../lib/json.ts'
import type { ChatMessage, ToolCall, Usage } from '../../message/transcript.ts'
import type { ChunkCollector } from '../../middleware/contract.ts'

export type { JsonObject } from '../../lib/json.ts'

export type ApiMode = 'chat_completions' | 'codex_responses' | 'anthropic_messages'

/**
 * The request of one attempt, exactly what goes over the wire as JSON, except for the four transport keys:
 * `extra_body` is merged into the body, `extra_headers` and `extra_query` are sent as such, `timeout` is in seconds.
 */
export interface ModelRequest {
  readonly model: string
  readonly stream: true
  readonly extra_body?: Readonly<Record<string, unknown>>
  readonly extra_headers?: Readonly<Record<string, string>>
  readonly extra_query?: Readonly<Record<string, string>>
  readonly timeout?: number
  readonly [key: string]: unknown
}

export interface ToolSchema {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject
}

export interface RequestInput {
  readonly model: string
  readonly system: string
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSchema[]
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'
  readonly maxOutputTokens?: number
}

/** What a chunk adds for people who watch. */
export type TextDelta = { readonly kind: 'text' | 'reasoning'; readonly text: string }

/** A finished answer, read from the vendor's final JSON. */
export interface ModelOutput {
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly usage: Usage
  /** `stop`, `tool_calls`, `length`, `content_filter` or the vendor's own word. */
  readonly finishReason: string
  /** To be sent back unchanged next time; see `AssistantMessage.providerData`. */
  readonly providerItems?: readonly unknown[]
}

export interface Provider {
  /** `openai`, `openai-responses`, `anthropic`, `demo`. */
  readonly name: string
  readonly apiMode: ApiMode
  readonly baseUrl: string
  /** Pure: same input, same bytes (prompt caches depend on it). */
  buildRequest(input: RequestInput): ModelRequest
  /**
   * Calls the vendor once. Yields its chunks as they come, returns its final JSON, aggregated from the stream.
   * Throws `ModelError`; an aborted signal always throws (never a silent half answer) and closes the connection.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<JsonObject, JsonObject, void>
  /** Aggregates chunks that plugins have changed into the same final JSON. Throws `ModelError` (`bad-response`). */
  createCollector(): ChunkCollector<JsonObject, JsonObject>
  /** What a chunk shows; null for chunks without text. Pure. */
  parseDelta(chunk: JsonObject): TextDelta | null
  /** Reads a final response. Throws `ModelError` (`bad-response`) when it is not one. Pure. */
  parseResponse(response: JsonObject): ModelOutput
}

/** Chosen by what the loop does next: wait and retry, or give up and say why. */
export type ModelErrorKind =
  | 'rate-limit'
  | 'overloaded'
  | 'network'
  | 'timeout'
  | 'auth'
  | 'billing'
  | 'context'
  | 'invalid-request'
  | 'bad-response'

export class ModelError extends Error {
  readonly kind: ModelErrorKind
  /** HTTP status where there was one. */
  readonly status: number | undefined
  /** What the vendor asked for in `retry-after`. */
  readonly retryAfterMs: number | undefined

  constructor(
    problem: ModelErrorKind,
    message: string,
    options: { cause?: unknown; status?: number | undefined; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ModelError'
    this.kind = problem
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs
  }

  get retryable(): boolean {
    return (
      this.kind === 'rate-limit' || this.kind === 'overloaded' || this.kind === 'network' || this.kind === 'timeout'
    )
  }
}
