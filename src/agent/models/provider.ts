/**
 * The contract between the agent loop and a model vendor.
 *
 * A provider builds a plain request object, streams the vendor's chunks, returns the vendor's final JSON and reads both.
 * The loop, the middleware and the tests use only these plain values.
 */

import type { JsonObject } from '../../lib/json.ts'
import type { ReasoningEffort } from '../../message/conversation-choices.ts'
import type { ChatMessage, ToolCall, Usage } from '../../message/transcript.ts'
import type { ChunkCollector } from '../../middleware/managed-call.ts'
import type { ModelRequest } from '../support/model-request.ts'

export type ApiMode = 'chat_completions' | 'codex_responses' | 'anthropic_messages'

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
  readonly reasoningEffort?: ReasoningEffort | undefined
  /** Asks for the reasoning as text, where it must be asked for. */
  readonly showsReasoning?: boolean
  readonly maxOutputTokens?: number | undefined
  /** The model is shown the pictures of the messages. Providers set it for models that see, and callers for any other. */
  readonly showsPictures?: boolean
}

/** Text that a chunk adds, for the live view. */
export type TextDelta = { readonly kind: 'text' | 'reasoning'; readonly text: string }

/** A complete response of the model, read from the vendor's final JSON. */
export interface ModelOutput {
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly usage: Usage
  /** `stop`, `tool_calls`, `length`, `content_filter` or the vendor's own value. */
  readonly finishReason: string
  /** What the model thought before it answered, where the vendor gives it as text. */
  readonly reasoning?: string
  /** Sent back unchanged with the next request; see `AssistantMessage.providerData`. */
  readonly providerItems?: readonly unknown[] | undefined
}

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  /** Factors of a request whose input has more tokens. */
  readonly longPrompt?: { readonly above: number; readonly input: number; readonly output: number }
}

export interface Provider {
  /** `openai`, `openai-responses`, `anthropic`, `demo`. */
  readonly name: string
  readonly apiMode: ApiMode
  readonly baseUrl: string
  /** The known prices by name of the model, without a date at its end; `*` is any other model. */
  readonly prices?: Readonly<Record<string, ModelPrice>>
  /** Whether the model reads pictures. Absent: none does. */
  readonly sees?: ((model: string) => boolean) | undefined
  /**
   * Pure: same input, same bytes (prompt caches depend on it). A picture is in it as an address, `hermes-picture:<file>`, and only
   * for models that see. Its content is read when the request is sent.
   */
  buildRequest(input: RequestInput): ModelRequest
  /**
   * Calls the vendor once. Yields its chunks as they arrive and returns its final JSON, aggregated from the stream.
   * Throws `ModelError`. An aborted signal always throws and closes the connection; an incomplete response is never
   * returned.
   *
   * @param sessionId the conversation, for a server that wants to know it (`session_affinity_header`)
   */
  stream(request: ModelRequest, signal: AbortSignal, sessionId?: string): AsyncGenerator<JsonObject, JsonObject, void>
  /**
   * Called after a call that failed. True: the provider refused the key, and the next call uses another one. Absent for a provider
   * with one key.
   */
  rotate?(failure: ModelError): boolean
  /** The same provider for other work at the same time, which chooses a key of its own. Absent for a provider with one key. */
  withOwnKey?(): Provider
  /** When the provider accepts a key again, ms; 0 when it accepts one now. Absent for a provider with one key. */
  restsUntil?(): number
  /** Aggregates chunks that plugins have changed into the final JSON. Throws `ModelError` (`bad-response`). */
  createCollector(): ChunkCollector<JsonObject, JsonObject>
  /** The text in a chunk; null for chunks without text. Pure. */
  parseDelta(chunk: JsonObject): TextDelta | null
  /** Reads a final response. Throws `ModelError` (`bad-response`) for anything else. Pure. */
  parseResponse(response: JsonObject): ModelOutput
}

/** The kinds differ in what the loop does next: retry after a delay, compress the conversation, or fail the turn. */
export type ModelErrorKind =
  | 'rate-limit'
  | 'overloaded'
  | 'network'
  | 'timeout'
  | 'auth'
  | 'billing'
  | 'context'
  | 'content-filter'
  | 'invalid-request'
  | 'bad-response'

/** Tries after which a failure that occurs in a row is permanent. `Infinity`: only time limits the retries. */
const defaultMaxTries: Readonly<Record<ModelErrorKind, number>> = {
  'rate-limit': Number.POSITIVE_INFINITY,
  overloaded: Number.POSITIVE_INFINITY,
  network: Number.POSITIVE_INFINITY,
  timeout: Number.POSITIVE_INFINITY,
  'bad-response': 3,
  auth: 1,
  billing: 1,
  context: 1,
  'content-filter': 1,
  'invalid-request': 1,
}

export interface ModelErrorOptions {
  readonly cause?: unknown
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly maxTries?: number
  readonly isLocalRefusal?: boolean
}

export class ModelError extends Error {
  readonly kind: ModelErrorKind
  /** The HTTP status, if there was one. */
  readonly status: number | undefined
  /** The delay that the vendor requested in `retry-after`. */
  readonly retryAfterMs: number | undefined
  /** Calls that may fail like this in a row before the failure is permanent. 1: a retry cannot succeed. */
  readonly maxTries: number
  /** Nothing listens at the address, which belongs to this machine. */
  readonly isLocalRefusal: boolean

  constructor(kind: ModelErrorKind, message: string, options: ModelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ModelError'
    this.kind = kind
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs
    this.maxTries = options.maxTries ?? defaultMaxTries[kind]
    this.isLocalRefusal = options.isLocalRefusal ?? false
  }

  get retryable(): boolean {
    return this.maxTries > 1
  }
}

/** The provider did not recover while a call was retried. The turn can wait for it. */
export class ModelOutage extends ModelError {
  /** When the calls began to fail, ms. */
  readonly since: number
  /** The host of the provider. */
  readonly server: string

  constructor(failure: ModelError, server: string, since: number) {
    super(failure.kind, failure.message, {
      cause: failure,
      status: failure.status,
      retryAfterMs: failure.retryAfterMs,
      maxTries: failure.maxTries,
      isLocalRefusal: failure.isLocalRefusal,
    })
    this.server = server
    this.since = since
  }
}
