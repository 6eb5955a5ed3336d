/**
 * What a local model server can be told to answer, and what it remembers of a request. Plain data as far as possible,
 * so that a script can travel to a server in another process as JSON.
 */
import type { IncomingHttpHeaders } from 'node:http'

export type JsonObject = { readonly [key: string]: unknown }

export interface ScriptedCall {
  readonly id?: string
  readonly name: string
  /** JSON text, well-formed or not, or the value to be written as JSON. */
  readonly arguments: string | JsonObject
}

export interface ModelReply {
  readonly text?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ScriptedCall[]
  /** The vendor's word; usually left to the server. */
  readonly finishReason?: string
  readonly usage?: {
    readonly input: number
    readonly output: number
    readonly cached?: number
    /** US dollars, as OpenRouter reports them; only in Chat Completions. */
    readonly cost?: number
  }
  /** Laid over the top of the response; for fields no documentation names. */
  readonly extra?: JsonObject
  /** Headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>

  /** An error status instead of a stream. */
  readonly error?:
    | {
        readonly status: number
        readonly body?: JsonObject | string
        readonly headers?: Record<string, string>
      }
    | undefined
  /** Exactly these bytes with this status (200) and these headers (an event stream's). */
  readonly raw?: {
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body: string
  }
  /** An error event of the vendor's kind after the text. */
  readonly streamError?: { readonly type: string; readonly message: string }
  /** The data of one more event after the frames. */
  readonly garbage?: string
  /** Never answers, or stops in the middle (after `hangAfter` frames) and keeps the connection. */
  readonly hang?: 'headers' | 'stream'
  readonly hangAfter?: number
  /** Breaks the connection after so many frames. */
  readonly cutAfter?: number
  /** Ends the stream properly after so many frames, without the vendor's finish. */
  readonly endAfter?: number
  /** Repeats the first piece of the text after the frames sent so far until the client hangs up; set `endAfter` too. */
  readonly endless?: boolean
  /** Milliseconds before each frame. */
  readonly delayMs?: number
  /** Waited for before each frame, from 0; only within one process. */
  readonly gate?: (frame: number) => Promise<void>
}

export interface RecordedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly query: Readonly<Record<string, string>>
  /** Empty where the body was no JSON object. */
  readonly body: JsonObject
  readonly lastUserText: string
  /** Whether the client hung up before the answer was complete. */
  readonly closedEarly: boolean
  /** Resolves with the same when the exchange is over. */
  readonly closed: Promise<boolean>
}

/** A JSON object from a value or a text; {} for anything else. */
export function parseObject(value: unknown): JsonObject {
  const parsed: unknown = typeof value === 'string' ? parse(value) : value
  return isObject(parsed) ? parsed : {}
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Small pieces, as models send them. Nothing for ''. */
export function splitIntoChunks(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? []
}

/** The arguments of a call as text, cut into two pieces so that every client has to put them together. */
export function splitArguments(call: ScriptedCall): [string, string] {
  const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** Events of an event stream. */
export function sseFrame(data: JsonObject, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
}
