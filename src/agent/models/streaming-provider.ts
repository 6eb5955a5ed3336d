/**
 * A provider that streams its responses. The steps are the same for every vendor: open the connection, yield the chunks,
 * return the aggregated response, and map every failure to one `ModelError`.
 */
import { isRecord, type JsonObject } from '../../lib/json.ts'
import { linkAbortSignal, maxTimerMs } from '../../lib/timers.ts'
import type { ModelRequest } from '../support/model-request.ts'
import { createChunkCollector } from './chunk-collector.ts'
import {
  failureToModelError,
  mapProviderError,
  type ProviderErrorContext,
  parseChunkFailure,
} from './map-provider-error.ts'
import type { ModelCallEnd } from './model-call-monitor.ts'
import { withoutForeignItems } from './normalize-messages.ts'
import { ModelError, type Provider } from './provider.ts'
import { type ProviderOptions, providerErrorContext, type StreamLimits } from './provider-options.ts'
import { addServerSettings } from './server-request.ts'
import { drainReader, openSseReader, readChunks, type SseReader } from './sse-reader.ts'
import { type ModelTransport, toWireRequest, type WireRequest } from './transport.ts'
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
        provider: name,
        context,
      }),
    createCollector: () => createChunkCollector(createAggregator()),
    parseDelta: format.parseDelta,
    parseResponse: format.parseResponse,
  }
}

interface StreamResponseOptions {
  readonly send: ModelTransport
  readonly request: ModelRequest
  readonly signal: AbortSignal
  readonly limits: StreamLimits
  readonly aggregator: ResponseAggregator
  readonly isProgress: WireFormat['isProgress']
  readonly monitor: ProviderOptions['monitor']
  readonly provider: string
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
  const { provider, request, monitor } = options
  const begunAt = performance.now()
  monitor?.calls.add(timeout.idleMs)
  let end: ModelCallEnd = { result: 'aborted' }
  let reader: SseReader | undefined
  try {
    const response = await options.send(wire, timeout.signal)
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
    end = { result: 'ok', response: result }
    return result
  } catch (error) {
    if (signal.aborted) throw toAbortError(signal)
    const failure = timeoutError(timeout.exceeded, { host: context.host, idleMs, totalMs })
    const thrown = failure ?? mapProviderError(error, context)
    end = { result: thrown.kind }
    throw thrown
  } finally {
    timeout.stop()
    monitor?.calls.delete(timeout.idleMs)
    for (const observe of monitor?.observers ?? [])
      observe({ ...end, provider, model: request.model, ms: performance.now() - begunAt })
    // A consumer that leaves the loop reaches this too. Cancelling an incomplete body closes its connection.
    await reader?.cancel()
  }
}

function timeoutError(
  exceeded: 'idleMs' | 'totalMs' | undefined,
  { host, idleMs, totalMs }: { readonly host: string; readonly idleMs: number; readonly totalMs: number },
): ModelError | undefined {
  if (exceeded === 'idleMs') return new ModelError('timeout', `${host} sent no output for ${inSeconds(idleMs)}.`)
  if (exceeded !== 'totalMs') return undefined
  const message = `${host} did not complete its response within ${inSeconds(totalMs)} (agent.model_call_timeout).`
  return new ModelError('timeout', message, { maxTries: 2 })
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} seconds`
}

export function isFailureChunk({ error, type }: JsonObject): boolean {
  return (
    isRecord(error) || (typeof error === 'string' && error !== '') || type === 'error' || type === 'response.failed'
  )
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

export interface CallTimeLimits {
  /** Without output of the model. */
  readonly idleMs: number
  /** Limits the time of the whole call. */
  readonly totalMs: number
}

/** The time limits of one model call. */
interface CallTimeout {
  /** Aborts with the turn, or when a limit is exceeded. */
  readonly signal: AbortSignal
  /** The limit that caused the abort; undefined while none is exceeded. */
  readonly exceeded: keyof CallTimeLimits | undefined
  /** Milliseconds without output, without the time of the caller. */
  idleMs(): number
  /** The model has sent output: starts counting the idle time again. */
  progress(): void
  /** Stops counting the idle time while the caller handles a chunk: that time is not the vendor's. */
  pause(): void
  /** Continues counting. */
  resume(): void
  /** Releases the timer and the turn's signal. */
  stop(): void
}

/** `now` is a monotonic clock in milliseconds. The timeout starts at once. */
export function startCallTimeout(
  turnSignal: AbortSignal,
  { idleMs, totalMs }: CallTimeLimits,
  now: () => number = () => performance.now(),
): CallTimeout {
  const linked = linkAbortSignal(turnSignal)
  const startedAt = now()
  let since = startedAt
  let pausedAt: number | undefined
  let exceeded: CallTimeout['exceeded']
  const idleTime = () => (pausedAt ?? now()) - since
  // One timer that reads the clock when it fires: chunks arrive too often to reset a timer for each of them.
  const checkElapsed = (): void => {
    const time = now()
    const idleLeftMs = pausedAt === undefined ? idleMs - idleTime() : idleMs
    const totalLeftMs = totalMs - (time - startedAt)
    if (idleLeftMs > 0 && totalLeftMs > 0) {
      timer = setTimeout(checkElapsed, Math.min(idleLeftMs, totalLeftMs, maxTimerMs))
      return
    }
    exceeded = totalLeftMs <= 0 ? 'totalMs' : 'idleMs'
    linked.abort()
  }
  let timer = setTimeout(checkElapsed, Math.min(idleMs, totalMs, maxTimerMs))
  return {
    signal: linked.signal,
    get exceeded() {
      return exceeded
    },
    idleMs: idleTime,
    progress() {
      since = now()
    },
    pause() {
      pausedAt = now()
    },
    resume() {
      if (pausedAt !== undefined) since += now() - pausedAt
      pausedAt = undefined
    },
    stop() {
      clearTimeout(timer)
      linked.release()
    },
  }
}
