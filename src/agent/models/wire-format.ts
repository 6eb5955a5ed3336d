/**
 * What a wire format has to implement. Everything else about a model call is the same for every vendor.
 */
import type { JsonObject } from '../../lib/json.ts'
import type { ModelRequest } from '../support/model-request.ts'
import type { ApiMode, ModelOutput, RequestInput, TextDelta } from './provider.ts'

export interface WireFormat {
  readonly apiMode: ApiMode
  /** See `Provider.buildRequest`. */
  buildRequest(input: RequestInput): ModelRequest
  /** `maxChars` limits the characters of one response. */
  createAggregator(maxChars: number): ResponseAggregator
  /**
   * Whether a chunk contains output of the model: text, reasoning, a tool call, or the end of a part. Signs of life, empty
   * deltas and white space are no output. Pure.
   */
  isProgress(chunk: JsonObject): boolean
  /** See `Provider.parseDelta`. */
  parseDelta(chunk: JsonObject): TextDelta | null
  /** See `Provider.parseResponse`. */
  parseResponse(response: JsonObject): ModelOutput
}

/** Builds the final JSON of the vendor from the chunks of one stream. */
export interface ResponseAggregator {
  /** Throws `ModelError` (`bad-response`) for a chunk of the wrong shape. */
  add(chunk: JsonObject): void
  /** Records the text `[DONE]`, which ends some streams. */
  markDone(): void
  /** Whether the stream is complete. */
  readonly isDone: boolean
  /** The final JSON; null while the stream has not reported its end. */
  result(): JsonObject | null
}

/** What is sent of a request. A stream has its length and its type in the headers. */
export interface SentContent {
  readonly body: JsonObject | ReadableStream<Uint8Array>
  readonly headers: Readonly<Record<string, string>>
}
