/**
 * Reads server-sent events from a response body, with limits on the size of one event and of the whole stream.
 *
 * The decoders of the SDKs are not used because they have no limits: one endless line fills the memory, and an aborted
 * stream ends like a complete one.
 */
import { createParser } from 'eventsource-parser'
import { ModelError } from './provider.ts'

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

export interface SseLimits {
  /** Characters of one event. */
  readonly maxEventChars: number
  /** Characters of the whole stream, framing included. */
  readonly maxStreamChars: number
}

const MAX_NON_EVENT_CHARS = 200
const maxUnknownLines = 1_000
const lineBreak = /[\r\n]/

/** `read` throws `ModelError` (`bad-response`) when a limit is exceeded. */
export function createSseReader(body: ReadableStream<Uint8Array>, limits: SseLimits): SseReader {
  const reader = body.getReader()
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
    maxBufferSize: limits.maxEventChars,
    onEvent({ data }) {
      if (data.length > limits.maxEventChars) throw limitExceeded('an event', limits.maxEventChars)
      if (data !== '') events.push(data)
    },
    onError({ type, line }) {
      if (type === 'max-buffer-size-exceeded') throw limitExceeded('an event', limits.maxEventChars)
      if (type !== 'unknown-field') return
      unknownLineCount += 1
      // The parser creates an error for each of them.
      if (unknownLineCount > maxUnknownLines)
        throw new ModelError('bad-response', 'The model sent text that is no event stream.', { maxTries: 1 })
      if (unknownLines.length < MAX_NON_EVENT_CHARS) unknownLines += `${line?.trim()} `
    },
  })

  const feed = (text: string): readonly string[] => {
    receivedChars += text.length
    if (receivedChars > limits.maxStreamChars) throw limitExceeded('a stream', limits.maxStreamChars)
    if (beginning.length < MAX_NON_EVENT_CHARS) beginning += text.slice(0, MAX_NON_EVENT_CHARS)
    held.push(text)
    heldChars += text.length
    if (heldChars > limits.maxEventChars && !lineBreak.test(text)) throw limitExceeded('an event', limits.maxEventChars)
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
      return text.trim().slice(0, MAX_NON_EVENT_CHARS)
    },
    async read() {
      const { done, value } = await reader.read()
      if (!done) return feed(decoder.decode(value, { stream: true }))
      if (isComplete) return null
      isComplete = true
      // Dispatches a last event without its blank line, because some servers omit that line.
      return feed(`${decoder.decode()}\n\n`)
    },
    async drain() {
      let isOpen = true
      while (isOpen) {
        isOpen = await reader.read().then(
          ({ done }) => !done,
          () => false,
        )
      }
    },
    async cancel() {
      // A body that has failed rejects its cancel with the same error, which `read` has already reported.
      await reader.cancel().catch(() => undefined)
    },
  }
}

function isUnknownLine(text: string): boolean {
  return !/^\s*(?:$|:|(?:data|event|id|retry)(?:$|[:\r\n]))/.test(text)
}

function limitExceeded(what: string, chars: number): ModelError {
  return new ModelError('bad-response', `The model sent ${what} of more than ${chars} characters.`, { maxTries: 1 })
}
