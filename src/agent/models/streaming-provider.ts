/**
 * A provider that streams its responses. The steps are the same for every vendor: open the connection, yield the chunks,
 * return the aggregated response, and map every failure to one `ModelError`.
 */
import { setImmediate } from 'node:timers/promises'
import type { JsonObject } from '../../lib/json.ts'
import { exceedsDepth, exceedsMaxDepth, isRecord, parseJson } from '../../lib/json.ts'
import type { ModelRequest } from '../support/model-request.ts'
import { startCallTimeout } from './call-timeout.ts'
import { createChunkCollector } from './chunk-collector.ts'
import { readBodyPrefix } from './http-fetch.ts'
import {
  failureToModelError,
  mapProviderError,
  type ProviderErrorContext,
  parseChunkFailure,
  parseProviderFailure,
} from './map-provider-error.ts'
import { withoutForeignItems } from './normalize-messages.ts'
import { ModelError, type Provider } from './provider.ts'
import { type ProviderOptions, providerErrorContext, type StreamLimits } from './provider-options.ts'
import { type ModelTransport, toWireRequest, type WireRequest } from './sdk-transport.ts'
import { addServerSettings } from './server-request.ts'
import { createSseReader, type SseReader } from './sse-reader.ts'
import type { ResponseAggregator, WireFormat } from './wire-format.ts'

export function createStreamingProvider(format: WireFormat, send: ModelTransport, options: ProviderOptions): Provider {
  const { name, baseUrl, limits, pictures } = options
  const context = providerErrorContext(options)
  const createAggregator = () => format.createAggregator(limits.maxChars)
  const known = new Map<string, boolean>()
  /** The catalogue is asked once for each model. */
  const sees = (model: string) => {
    const seeing = known.get(model) ?? pictures?.sees(model) === true
    known.set(model, seeing)
    return seeing && pictures?.isRefused(model) !== true
  }
  return {
    name,
    baseUrl,
    apiMode: format.apiMode,
    sees: pictures && sees,
    buildRequest(input) {
      const accepted = withoutForeignItems(input, baseUrl)
      return format.buildRequest(sees(input.model) ? { ...accepted, showsPictures: true } : accepted)
    },
    stream: (request, signal, sessionId) =>
      streamResponse({
        send,
        request: options.server === undefined ? request : addServerSettings(request, options.server, sessionId),
        signal,
        limits,
        aggregator: createAggregator(),
        isProgress: format.isProgress,
        monitor: options.monitor,
        context,
      }),
    createCollector: () => createChunkCollector(createAggregator()),
    parseDelta: format.parseDelta,
    parseResponse: format.parseResponse,
  }
}

/** The framing takes about ten characters for each character of text, so the stream has a larger limit than the response. */
const STREAM_CHARS_FACTOR = 16
const MAX_DEPTH = 200
/** A complete stream normally ends at once. Reading its end keeps the connection open for the next call. */
const DRAIN_TIMEOUT_MS = 250
/** A server may send thousands of events at once. Other work of the process runs between them. */
const MAX_BUSY_MS = 8

interface StreamResponseOptions {
  readonly send: ModelTransport
  readonly request: ModelRequest
  readonly signal: AbortSignal
  readonly limits: StreamLimits
  readonly aggregator: ResponseAggregator
  readonly isProgress: WireFormat['isProgress']
  readonly monitor: ProviderOptions['monitor']
  readonly context: ProviderErrorContext
}

/** Yields and returns as `Provider.stream` does. Throws `ModelError`, or the signal's reason after an abort. */
async function* streamResponse(options: StreamResponseOptions): AsyncGenerator<JsonObject, JsonObject, void> {
  const { signal, limits, aggregator } = options
  if (signal.aborted) throw toAbortError(signal)
  const wire = toWireRequest(options.request)
  const idleMs = wire.timeoutMs ?? limits.idleTimeoutMs
  const context = withHeaderSecrets(options.context, wire)
  const totalMs = limits.totalTimeoutMs
  const timeout = startCallTimeout(signal, { idleMs, totalMs })
  const endMonitoring = options.monitor?.begin(timeout.idleMs)
  let reader: SseReader | undefined
  try {
    const response = await options.send(wire, { signal: timeout.signal, timeoutMs: idleMs + 60_000 })
    reader = await openSseReader(response, limits, context)
    timeout.progress()
    for await (const chunk of readChunks(reader, aggregator)) {
      if (isFailureChunk(chunk)) throw failureToModelError(parseChunkFailure(chunk), context)
      aggregator.add(chunk)
      if (options.isProgress(chunk)) timeout.progress()
      timeout.pause()
      yield chunk
      if (signal.aborted) throw toAbortError(signal)
      timeout.resume()
      timeout.signal.throwIfAborted()
    }
    const result = aggregator.result()
    if (result === null) throw incompleteStreamError(context, reader)
    await drainReader(reader)
    // An aborted stream can end like a complete one; the response of an interrupted turn must not count as complete.
    if (signal.aborted) throw toAbortError(signal)
    return result
  } catch (error) {
    if (signal.aborted) throw toAbortError(signal)
    if (timeout.exceeded === 'idleMs') {
      throw new ModelError('timeout', `${context.host} sent no output for ${inSeconds(idleMs)}.`)
    }
    if (timeout.exceeded === 'totalMs') {
      const message = `${context.host} did not complete its response within ${inSeconds(totalMs)} (agent.model_call_timeout).`
      throw new ModelError('timeout', message, { maxTries: 2 })
    }
    throw mapProviderError(error, context)
  } finally {
    timeout.stop()
    endMonitoring?.()
    // A consumer that leaves the loop reaches this too. Cancelling an incomplete body closes its connection.
    await reader?.cancel()
  }
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} seconds`
}

async function* readChunks(reader: SseReader, aggregator: ResponseAggregator): AsyncGenerator<JsonObject> {
  let busySince = performance.now()
  for (;;) {
    const askedAt = performance.now()
    const events = await reader.read()
    if (events === null) return
    // While a read waits for the network, other work runs.
    if (performance.now() - askedAt >= MAX_BUSY_MS) busySince = performance.now()
    for (const data of events) {
      if (performance.now() - busySince >= MAX_BUSY_MS) {
        await setImmediate()
        busySince = performance.now()
      }
      if (data === '[DONE]') aggregator.markDone()
      else yield parseChunk(data)
      if (aggregator.isDone) return
    }
    // Comments, and pieces of an event that is not complete.
    if (events.length === 0 && performance.now() - busySince >= MAX_BUSY_MS) {
      await setImmediate()
      busySince = performance.now()
    }
  }
}

/** Waits for the end of a complete stream, with a limit. */
async function drainReader(reader: SseReader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel(), DRAIN_TIMEOUT_MS)
  await reader.drain()
  clearTimeout(timer)
}

function parseChunk(data: string): JsonObject {
  const chunk = parseJson(data)
  // Such text is not parsed.
  if (chunk === undefined && exceedsMaxDepth(data)) throw tooDeepError()
  if (!isRecord(chunk)) throw new ModelError('bad-response', 'The model sent a chunk that is not a JSON object.')
  // A short chunk cannot be nested that deep.
  if (data.length > 2 * MAX_DEPTH && exceedsDepth(chunk, MAX_DEPTH)) throw tooDeepError()
  return chunk
}

function tooDeepError(): ModelError {
  return new ModelError('bad-response', `The model sent JSON nested more than ${MAX_DEPTH} levels deep.`)
}

export function isFailureChunk({ error, type }: JsonObject): boolean {
  return (
    isRecord(error) || (typeof error === 'string' && error !== '') || type === 'error' || type === 'response.failed'
  )
}

async function openSseReader(
  response: Response,
  limits: StreamLimits,
  context: ProviderErrorContext,
): Promise<SseReader> {
  const type = response.headers.get('content-type') ?? ''
  if (response.body === null) throw new ModelError('bad-response', `${context.host} sent a response without a body.`)
  if (/json|html/i.test(type)) throw await notAStreamError(response, type, context)
  return createSseReader(response.body, {
    maxEventChars: limits.maxChars,
    maxStreamChars: limits.maxChars * STREAM_CHARS_FACTOR,
  })
}

/** A 200 with one document instead of a stream: the error of a gateway, a login page, or a server that cannot stream. */
async function notAStreamError(response: Response, type: string, context: ProviderErrorContext): Promise<ModelError> {
  const body = response.body === null ? '' : await readBodyPrefix(response.body)
  const parsed = parseJson(body)
  if (isRecord(parsed) && parsed['error'] !== undefined && parsed['error'] !== null) {
    return failureToModelError(parseProviderFailure(parsed), context)
  }
  return new ModelError('bad-response', `${context.host} sent one document (${type}) instead of a stream.`)
}

function incompleteStreamError(context: ProviderErrorContext, reader: SseReader): ModelError {
  if (reader.nonEventText !== '') {
    return new ModelError('bad-response', `${context.host} sent a response that is not an event stream.`)
  }
  return new ModelError('network', `${context.host} closed the stream before the response was complete.`)
}

/** Header values that a plugin added may be keys too. */
function withHeaderSecrets(context: ProviderErrorContext, { headers }: WireRequest): ProviderErrorContext {
  const secrets = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
  if (secrets.length === 0) return context
  const { host, now } = context
  return { host, now, secrets: [...context.secrets, ...secrets.map(([, value]) => value)] }
}

/** The reason of an abort as an `Error`, so that the thrown value has a stack. */
export function toAbortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new Error('the model call was aborted', { cause: signal.reason })
}
