/**
 * Reads the chunks of a response from its server-sent events, with limits on the size of one event and of the whole stream.
 *
 * The decoders of the SDKs are not used because they have no limits: one endless line fills the memory, and an aborted
 * stream ends like a complete one.
 */
import { setImmediate } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { exceedsDepth, exceedsMaxDepth, isRecord, type JsonObject, parseJson } from '../../lib/json.ts'
import { type ByteReader, type ModelResponse, readPrefix } from './http-post.ts'
import { failureToModelError, type ProviderErrorContext, parseProviderFailure } from './map-provider-error.ts'
import { ModelError } from './provider.ts'
import type { StreamLimits } from './provider-options.ts'
import type { ResponseAggregator } from './wire-format.ts'

export interface SseReader {
  /** The non-empty `data` of the events in the next network chunk, possibly none; null at the end. Rejects as the body does. */
  read(): Promise<readonly string[] | null>
  /** The beginning of received text that does not belong to an event stream, such as an HTML page; otherwise ''. */
  readonly nonEventText: string
  /** Reads to the end and discards the data. Never rejects. */
  drain(): Promise<void>
  /** Cancels the body, which closes the connection. Never rejects. */
  cancel(): Promise<void>
}

/** The framing takes about ten characters for each character of text, so the stream has a larger limit than the response. */
const streamCharsFactor = 16
const maxNonEventChars = 200
const maxDepth = 200
/** A complete stream normally ends at once. Reading its end keeps the connection open for the next call. */
const drainTimeoutMs = 250
/** A server may send thousands of events at once. Other work of the process runs between them. */
const maxBusyMs = 8
const maxUnknownLines = 1_000
const lineBreak = /[\r\n]/

/** Throws `ModelError` when the response is no stream. */
export async function openSseReader(
  response: ModelResponse,
  limits: StreamLimits,
  context: ProviderErrorContext,
): Promise<SseReader> {
  if (response.status === 204) throw new ModelError('bad-response', `${context.host} sent a response without a body.`)
  const type = response.headers['content-type'] ?? ''
  if (/json|html/i.test(type)) throw await notAStreamError(response, type, context)
  return createSseReader(response.body, limits.maxChars)
}

/** A 200 with one document instead of a stream: the error of a gateway, a login page, or a server that cannot stream. */
async function notAStreamError(
  response: ModelResponse,
  type: string,
  context: ProviderErrorContext,
): Promise<ModelError> {
  const parsed = parseJson(await readPrefix(response.body))
  if (isRecord(parsed) && parsed['error'] !== undefined && parsed['error'] !== null) {
    return failureToModelError(parseProviderFailure(parsed), context)
  }
  return new ModelError('bad-response', `${context.host} sent one document (${type}) instead of a stream.`)
}

/**
 * `read` throws `ModelError` (`bad-response`) when a limit is exceeded.
 * @param maxStreamChars characters of the whole stream, framing included
 */
export function createSseReader(
  body: ByteReader,
  maxEventChars: number,
  maxStreamChars = maxEventChars * streamCharsFactor,
): SseReader {
  const decoder = new TextDecoder()
  let events: string[] = []
  let receivedChars = 0
  let beginning = ''
  let unknownLines = ''
  let unknownLineCount = 0
  let isComplete = false
  /** Text without a line break. The parser would search it again with each piece. */
  let held: string[] = []
  let heldChars = 0

  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent({ data }) {
      if (data.length > maxEventChars) throw limitExceeded('an event', maxEventChars)
      if (data !== '') events.push(data)
    },
    onError({ type, line }) {
      if (type === 'max-buffer-size-exceeded') throw limitExceeded('an event', maxEventChars)
      if (type !== 'unknown-field') return
      unknownLineCount += 1
      // The parser creates an error for each of them.
      if (unknownLineCount > maxUnknownLines)
        throw new ModelError('bad-response', 'The model sent text that is no event stream.', { maxTries: 1 })
      if (unknownLines.length < maxNonEventChars) unknownLines += `${line?.trim()} `
    },
  })

  const feed = (text: string): readonly string[] => {
    receivedChars += text.length
    if (receivedChars > maxStreamChars) throw limitExceeded('a stream', maxStreamChars)
    if (beginning.length < maxNonEventChars) beginning += text.slice(0, maxNonEventChars)
    held.push(text)
    heldChars += text.length
    if (heldChars > maxEventChars && !lineBreak.test(text)) throw limitExceeded('an event', maxEventChars)
    events = []
    if (!lineBreak.test(text)) return events
    const complete = held.join('')
    held = []
    heldChars = 0
    parser.feed(complete)
    return events
  }

  return {
    get nonEventText() {
      // The parser reports only complete unknown lines; a document may consist of one line without an end.
      const text = unknownLines === '' && isUnknownLine(beginning) ? beginning : unknownLines
      return text.trim().slice(0, maxNonEventChars)
    },
    async read() {
      const { done, value } = await body.read()
      if (!done) return feed(decoder.decode(value, { stream: true }))
      if (isComplete) return null
      isComplete = true
      // Dispatches a last event without its blank line, because some servers omit that line.
      return feed(`${decoder.decode()}\n\n`)
    },
    async drain() {
      let isOpen = true
      while (isOpen) {
        isOpen = await body.read().then(
          ({ done }) => !done,
          () => false,
        )
      }
    },
    async cancel() {
      // A body that has failed rejects its cancel with the same error, which `read` has already reported.
      await body.cancel().catch(() => undefined)
    },
  }
}

function isUnknownLine(text: string): boolean {
  return !/^\s*(?:$|:|(?:data|event|id|retry)(?:$|[:\r\n]))/.test(text)
}

function limitExceeded(what: string, chars: number): ModelError {
  return new ModelError('bad-response', `The model sent ${what} of more than ${chars} characters.`, { maxTries: 1 })
}

/** The chunks up to the end of the response. Throws `ModelError` for one that is no JSON object. */
export async function* readChunks(reader: SseReader, aggregator: ResponseAggregator): AsyncGenerator<JsonObject> {
  let busySince = performance.now()
  for (;;) {
    const askedAt = performance.now()
    const events = await reader.read()
    if (events === null) return
    // While a read waits for the network, other work runs.
    if (performance.now() - askedAt >= maxBusyMs) busySince = performance.now()
    for (const data of events) {
      if (performance.now() - busySince >= maxBusyMs) {
        await setImmediate()
        busySince = performance.now()
      }
      if (data === '[DONE]') aggregator.markDone()
      else yield parseChunk(data)
      if (aggregator.isDone) return
    }
    // Comments, and pieces of an event that is not complete.
    if (events.length === 0 && performance.now() - busySince >= maxBusyMs) {
      await setImmediate()
      busySince = performance.now()
    }
  }
}

/** Waits for the end of a complete stream, with a limit. */
export async function drainReader(reader: SseReader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel(), drainTimeoutMs)
  await reader.drain()
  clearTimeout(timer)
}

function parseChunk(data: string): JsonObject {
  const chunk = parseJson(data)
  // Such text is not parsed.
  if (chunk === undefined && exceedsMaxDepth(data)) throw tooDeepError()
  if (!isRecord(chunk)) throw new ModelError('bad-response', 'The model sent a chunk that is not a JSON object.')
  // A short chunk cannot be nested that deep.
  if (data.length > 2 * maxDepth && exceedsDepth(chunk, maxDepth)) throw tooDeepError()
  return chunk
}

function tooDeepError(): ModelError {
  return new ModelError('bad-response', `The model sent JSON nested more than ${maxDepth} levels deep.`)
}
