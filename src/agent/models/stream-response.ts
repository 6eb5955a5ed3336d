/**
 * One streamed call of a model, the same for every vendor: opens the connection, yields the chunks, returns the
 * aggregated response, and makes one `ModelError` of whatever goes wrong on the way.
 */

import { exceedsDepth, isRecord, parseJson } from '../../lib/json.ts'
import { type IdleTimeout, startIdleTimeout, toAbortError } from './idle-timeout.ts'
import {
  failureInChunk,
  failureToModelError,
  mapProviderError,
  type ProviderErrorContext,
  parseProviderFailure,
} from './map-provider-error.ts'
import { type JsonObject, ModelError, type ModelRequest } from './provider.ts'
import { createSseReader, type SseReader } from './sse-reader.ts'
import { toWireRequest, type WireRequest } from './wire-request.ts'

/** Sends a body through a vendor's SDK and gives the unread response. Rejects as the SDK does. */
export type ModelTransport = (
  wire: WireRequest,
  options: { signal: AbortSignal; timeoutMs: number },
) => Promise<Response>

/** Collects the chunks of one stream into the vendor's final JSON. */
export interface ResponseAggregator {
  /** Throws `ModelError` (`bad-response`) for a chunk of the wrong shape. */
  add(chunk: JsonObject): void
  /** The text `[DONE]` came, which ends some streams. */
  markDone(): void
  /** Whether nothing more is to come. */
  readonly isDone: boolean
  /** The final JSON, null while the stream has not said that it is finished. */
  result(): JsonObject | null
}

export interface StreamLimits {
  /** Silence of the vendor in milliseconds after which the call is given up. */
  readonly idleTimeoutMs: number
  /** Characters of one answer: text, reasoning and tool arguments together. */
  readonly maxChars: number
}

export const defaultStreamLimits: StreamLimits = { idleTimeoutMs: 600_000, maxChars: 8_000_000 }

/** A stream carries about ten characters of framing for each one of text, so its own limit is wider than the answer's. */
const STREAM_CHARS_FACTOR = 16
const MAX_DEPTH = 200
/** A finished stream normally ends at once; reading that end keeps the connection for the next call. */
const DRAIN_TIMEOUT_MS = 250

export interface StreamResponseOptions {
  readonly send: ModelTransport
  readonly request: ModelRequest
  readonly signal: AbortSignal
  readonly limits: StreamLimits
  readonly aggregator: ResponseAggregator
  readonly context: ProviderErrorContext
}

/** Yields and returns as `Provider.stream` does. Throws `ModelError`, or the signal's reason after an abort. */
export async function* streamResponse(options: StreamResponseOptions): AsyncGenerator<JsonObject, JsonObject, void> {
  const { signal, limits, aggregator } = options
  if (signal.aborted) throw toAbortError(signal)
  const wire = toWireRequest(options.request)
  const idleMs = wire.timeoutMs ?? limits.idleTimeoutMs
  const context = withHeaderSecrets(options.context, wire)
  const idleTimeout = startIdleTimeout(signal, idleMs)
  let reader: SseReader | undefined
  try {
    const response = await options.send(wire, { signal: idleTimeout.signal, timeoutMs: idleMs + 60_000 })
    reader = await openSseReader(response, limits, context)
    for await (const chunk of readChunks(reader, idleTimeout, aggregator)) {
      const failure = failureInChunk(chunk)
      if (failure !== undefined) throw failureToModelError(failure, context)
      aggregator.add(chunk)
      idleTimeout.pause()
      yield chunk
      if (signal.aborted) throw toAbortError(signal)
      idleTimeout.restart()
    }
    const result = aggregator.result()
    if (result === null) throw incompleteStreamError(context, reader)
    await drainReader(reader)
    // Streams can end on an abort like on a finish; the answer of a stopped turn must never pass for a good one.
    if (signal.aborted) throw toAbortError(signal)
    return result
  } catch (error) {
    if (signal.aborted) throw toAbortError(signal)
    if (idleTimeout.timedOut) {
      throw new ModelError('timeout', `${context.host} sent nothing for ${Math.round(idleMs / 1000)} seconds.`)
    }
    throw mapProviderError(error, context)
  } finally {
    idleTimeout.stop()
    // Also reached when the consumer leaves the loop: an unfinished body closes its connection.
    await reader?.cancel()
  }
}

async function* readChunks(
  reader: SseReader,
  idleTimeout: IdleTimeout,
  aggregate: ResponseAggregator,
): AsyncGenerator<JsonObject> {
  for (;;) {
    const events = await reader.read()
    if (events === null) return
    idleTimeout.restart()
    for (const data of events) {
      if (data === '[DONE]') aggregate.markDone()
      else if (data !== '') yield parseChunk(data)
      if (aggregate.isDone) return
    }
  }
}

/** Waits for the end of a stream that has said all, but not for long. */
async function drainReader(reader: SseReader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel(), DRAIN_TIMEOUT_MS)
  await reader.drain()
  clearTimeout(timer)
}

function parseChunk(data: string): JsonObject {
  const chunk = parseJson(data)
  if (!isRecord(chunk)) throw new ModelError('bad-response', 'The model sent a chunk that is not a JSON object.')
  // Nesting needs room: short chunks are spared the walk.
  if (data.length > 2 * MAX_DEPTH && exceedsDepth(chunk, MAX_DEPTH)) {
    throw new ModelError('bad-response', `The model sent JSON nested more than ${MAX_DEPTH} levels deep.`)
  }
  return chunk
}

async function openSseReader(
  response: Response,
  limits: StreamLimits,
  context: ProviderErrorContext,
): Promise<SseReader> {
  const type = response.headers.get('content-type') ?? ''
  if (response.body === null) throw new ModelError('bad-response', `${context.host} answered without a body.`)
  if (/json|html/i.test(type)) throw await notAStreamError(response, type, context)
  return createSseReader(response.body, {
    maxEventChars: limits.maxChars,
    maxStreamChars: limits.maxChars * STREAM_CHARS_FACTOR,
  })
}

/** A 200 with one document instead of a stream: a gateway's error, a login page, or a server that cannot stream. */
async function notAStreamError(response: Response, type: string, context: ProviderErrorContext): Promise<ModelError> {
  const body = response.body === null ? '' : await readBodyPrefix(response.body)
  const parsed = parseJson(body)
  if (isRecord(parsed) && parsed['error'] !== undefined && parsed['error'] !== null) {
    return failureToModelError(parseProviderFailure(parsed), context)
  }
  return new ModelError('bad-response', `${context.host} answered one document (${type}) instead of a stream.`)
}

const MAX_PREFIX_CHARS = 64 * 1024

/** At most 64 k characters of a body; the rest is given up. */
export async function readBodyPrefix(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  // Leaving the loop early cancels the body and closes the connection.
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length >= MAX_PREFIX_CHARS) break
  }
  return text.slice(0, MAX_PREFIX_CHARS)
}

function incompleteStreamError(context: ProviderErrorContext, reader: SseReader): ModelError {
  if (reader.nonEventText !== '') {
    return new ModelError('bad-response', `${context.host} answered something that is not an event stream.`)
  }
  return new ModelError('network', `${context.host} ended the stream before the answer was finished.`)
}

/** Header values a plugin added may be keys too. */
function withHeaderSecrets(context: ProviderErrorContext, wire: WireRequest): ProviderErrorContext {
  const values = Object.entries(wire.headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
  return values.length === 0
    ? context
    : { ...context, secrets: [...context.secrets, ...values.map(([, value]) => value)] }
}
