/**
 * Reads server-sent events from a response body, a network chunk at a time.
 *
 * The SDKs' own decoders have no limits: one endless line fills the memory, silence is waited for without end and an
 * abort ends the loop like a normal finish. Reading the body ourselves puts all three in one place.
 */
import { ModelError } from './provider.ts'

export interface SseReader {
  /** The `data` of the events in the next network chunk, possibly none; null at the end. Rejects as the body does. */
  read(): Promise<readonly string[] | null>
  /** Something came that is no event stream (a page, a document), its beginning for the error message; otherwise ''. */
  readonly nonEventText: string
  /** Reads on to the end and forgets what comes. Never rejects: the caller has what it wanted. */
  drain(): Promise<void>
  /** Gives the body up and closes the connection. Never rejects. */
  cancel(): Promise<void>
}

export interface SseLimits {
  /** Characters of one event. */
  readonly maxEventChars: number
  /** Characters of the whole stream, framing included. */
  readonly maxStreamChars: number
}

const MAX_NON_EVENT_CHARS = 200

/** Throws `ModelError` (`bad-response`) from `read` when a limit is passed. */
export function createSseReader(body: ReadableStream<Uint8Array>, limits: SseLimits): SseReader {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let pending = ''
  let data: string | undefined
  let seen = 0
  let strayText = ''

  const takeLine = (line: string, events: string[]): void => {
    if (line === '') {
      if (data !== undefined) events.push(data)
      data = undefined
    } else if (line.startsWith('data:')) {
      const text = line.startsWith('data: ') ? line.slice(6) : line.slice(5)
      data = data === undefined ? text : `${data}\n${text}`
      if (data.length > limits.maxEventChars) throw limitExceeded('an event', limits.maxEventChars)
    } else if (
      !/^(?::|event:|id:|retry:|event$|id$|retry$|data$)/.test(line) &&
      strayText.length < MAX_NON_EVENT_CHARS
    ) {
      strayText = `${strayText}${line.trim()} `.slice(0, MAX_NON_EVENT_CHARS)
    }
  }

  const takeText = (text: string): string[] => {
    seen += text.length
    if (seen > limits.maxStreamChars) throw limitExceeded('a stream', limits.maxStreamChars)
    // Only the new part can hold the end of the pending line: searching it all again would be quadratic.
    let searchFrom = pending.length
    pending += text
    let start = 0
    const events: string[] = []
    for (;;) {
      const end = pending.indexOf('\n', searchFrom)
      if (end === -1) break
      takeLine(pending.slice(start, pending[end - 1] === '\r' && end > start ? end - 1 : end), events)
      start = end + 1
      searchFrom = start
    }
    if (start > 0) pending = pending.slice(start)
    if (pending.length > limits.maxEventChars) throw limitExceeded('an event', limits.maxEventChars)
    return events
  }

  return {
    get nonEventText() {
      return strayText
    },
    async read() {
      const { done, value } = await reader.read()
      if (!done) return takeText(decoder.decode(value, { stream: true }))
      // A last event without its blank line still counts: some servers leave the line out.
      const rest = pending + decoder.decode()
      pending = ''
      if (rest === '' && data === undefined) return null
      const events: string[] = []
      for (const line of [...rest.split('\n'), '']) takeLine(line.endsWith('\r') ? line.slice(0, -1) : line, events)
      return events
    },
    async drain() {
      let open = true
      while (open) {
        open = await reader.read().then(
          ({ done }) => !done,
          () => false,
        )
      }
    },
    async cancel() {
      // A body that already failed rejects its cancel with the same error, which `read` has reported.
      await reader.cancel().catch(() => undefined)
    },
  }
}

function limitExceeded(what: string, chars: number): ModelError {
  return new ModelError('bad-response', `The model sent ${what} of more than ${chars} characters.`)
}
