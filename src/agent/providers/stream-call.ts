/**
 * One streamed call of a model, the same for every vendor: opens the connection, yields the chunks, returns the
 * aggregated response, and makes one `ModelError` of whatever goes wrong on the way.
 */
import { type JsonObject, ModelError, type ModelRequest } from '../provider.ts'
import { abortReason, type CallWatch, watchCall } from './call-watch.ts'
import { type FaultContext, faultError, faultInChunk, readFault, toModelError } from './fault.ts'
import { isDeeperThan, isRecord, parseJson } from './json.ts'
import { createEventReader, type EventReader } from './sse.ts'
import { splitRequest, type WireRequest } from './wire-request.ts'

/** Sends a body through a vendor's SDK and gives the unread response. Rejects as the SDK does. */
export type OpenCall = (wire: WireRequest, options: { signal: AbortSignal; timeoutMs: number }) => Promise<Response>

/** Collects the chunks of one stream into the vendor's final JSON. */
export interface Aggregate {
  /** Throws `ModelError` (`bad-response`) for a chunk of the wrong shape. */
  add(chunk: JsonObject): void
  /** The text `[DONE]` came, which ends some streams. */
  mark(): void
  /** Whether nothing more is to come. */
  readonly isDone: boolean
  /** The final JSON, null while the stream has not said that it is finished. */
  result(): JsonObject | null
}

export interface CallLimits {
  /** Silence of the vendor in milliseconds after which the call is given up. */
  readonly idleTimeoutMs: number
  /** Characters of one answer: text, reasoning and tool arguments together. */
  readonly maxChars: number
}

export const defaultLimits: CallLimits = { idleTimeoutMs: 600_000, maxChars: 8_000_000 }

/** A stream carries about ten characters of framing for each one of text, so its own limit is wider than the answer's. */
const STREAM_FACTOR = 16
const MAX_DEPTH = 200
/** A finished stream normally ends at once; reading that end keeps the connection for the next call. */
const END_GRACE_MS = 250

export interface StreamCall {
  readonly open: OpenCall
  readonly request: ModelRequest
  readonly signal: AbortSignal
  readonly limits: CallLimits
  readonly aggregate: Aggregate
  readonly context: FaultContext
}

/** Yields and returns as `Provider.stream` does. Throws `ModelError`, or the signal's reason after an abort. */
export async function* streamCall(call: StreamCall): AsyncGenerator<JsonObject, JsonObject, void> {
  const { signal, limits, aggregate } = call
  if (signal.aborted) throw abortReason(signal)
  const wire = splitRequest(call.request)
  const idleMs = wire.timeoutMs ?? limits.idleTimeoutMs
  const context = withHeaderSecrets(call.context, wire)
  const watch = watchCall(signal, idleMs)
  let reader: EventReader | undefined
  try {
    const response = await call.open(wire, { signal: watch.signal, timeoutMs: idleMs + 60_000 })
    reader = await readerOf(response, limits, context)
    for await (const chunk of chunksOf(reader, watch, aggregate)) {
      const fault = faultInChunk(chunk)
      if (fault !== undefined) throw faultError(fault, context)
      aggregate.add(chunk)
      watch.heard()
      yield chunk
      if (signal.aborted) throw abortReason(signal)
      watch.waiting()
    }
    const result = aggregate.result()
    if (result === null) throw unfinished(context, reader)
    await endOf(reader)
    // Streams can end on an abort like on a finish; the answer of a stopped turn must never pass for a good one.
    if (signal.aborted) throw abortReason(signal)
    return result
  } catch (error) {
    if (signal.aborted) throw abortReason(signal)
    if (watch.timedOut) {
      throw new ModelError('timeout', `${context.host} sent nothing for ${Math.round(idleMs / 1000)} seconds.`)
    }
    throw toModelError(error, context)
  } finally {
    watch.end()
    // Also reached when the consumer leaves the loop: an unfinished body closes its connection.
    await reader?.cancel()
  }
}

async function* chunksOf(reader: EventReader, watch: CallWatch, aggregate: Aggregate): AsyncGenerator<JsonObject> {
  for (;;) {
    const events = await reader.read()
    if (events === null) return
    watch.waiting()
    for (const data of events) {
      if (data === '[DONE]') aggregate.mark()
      else if (data !== '') yield parseChunk(data)
      if (aggregate.isDone) return
    }
  }
}

/** Waits for the end of a stream that has said all, but not for long. */
async function endOf(reader: EventReader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel(), END_GRACE_MS)
  await reader.drain()
  clearTimeout(timer)
}

function parseChunk(data: string): JsonObject {
  const chunk = parseJson(data)
  if (!isRecord(chunk)) throw new ModelError('bad-response', 'The model sent a chunk that is not a JSON object.')
  // Nesting needs room: short chunks are spared the walk.
  if (data.length > 2 * MAX_DEPTH && isDeeperThan(chunk, MAX_DEPTH)) {
    throw new ModelError('bad-response', `The model sent JSON nested more than ${MAX_DEPTH} levels deep.`)
  }
  return chunk
}

async function readerOf(response: Response, limits: CallLimits, context: FaultContext): Promise<EventReader> {
  const type = response.headers.get('content-type') ?? ''
  if (response.body === null) throw new ModelError('bad-response', `${context.host} answered without a body.`)
  if (/json|html/i.test(type)) throw await notAStream(response, type, context)
  return createEventReader(response.body, {
    maxEventChars: limits.maxChars,
    maxStreamChars: limits.maxChars * STREAM_FACTOR,
  })
}

/** A 200 with one document instead of a stream: a gateway's error, a login page, or a server that cannot stream. */
async function notAStream(response: Response, type: string, context: FaultContext): Promise<ModelError> {
  const body = response.body === null ? '' : await readStart(response.body)
  const parsed = parseJson(body)
  if (isRecord(parsed) && parsed['error'] !== undefined && parsed['error'] !== null) {
    return faultError(readFault(parsed), context)
  }
  return new ModelError('bad-response', `${context.host} answered one document (${type}) instead of a stream.`)
}

const START_CHARS = 64 * 1024

/** At most 64 k characters of a body; the rest is given up. */
export async function readStart(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  // Leaving the loop early cancels the body and closes the connection.
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length >= START_CHARS) break
  }
  return text.slice(0, START_CHARS)
}

function unfinished(context: FaultContext, reader: EventReader): ModelError {
  if (reader.strayText !== '') {
    return new ModelError('bad-response', `${context.host} answered something that is not an event stream.`)
  }
  return new ModelError('network', `${context.host} ended the stream before the answer was finished.`)
}

/** Header values a plugin added may be keys too. */
function withHeaderSecrets(context: FaultContext, wire: WireRequest): FaultContext {
  const values = Object.entries(wire.headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
  return values.length === 0
    ? context
    : { ...context, secrets: [...context.secrets, ...values.map(([, value]) => value)] }
}
