/**
 * Between node's HTTP and the web standard: routes of platforms see `Request` and give back `Response`.
 */
import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { defaultHeaders } from './json-response.ts'

export interface RequestParts {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  /** The bytes as they came: signatures of webhooks are made over them. */
  readonly body: Uint8Array | undefined
  readonly signal: AbortSignal
  /** Headers the route has no business with. */
  readonly omitHeader?: string | undefined
}

/** May throw (TypeError) on headers that the web standard does not know. */
export function toRequest({ method, url, headers, body, signal, omitHeader: without }: RequestParts): Request {
  const copied = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name === without) continue
    for (const one of Array.isArray(value) ? value : [value]) copied.append(name, one)
  }
  const hasBody = method !== 'GET' && body !== undefined && body.length > 0
  return new Request(url, { method, headers: copied, signal, ...(hasBody ? { body } : {}) })
}

/**
 * Sends a response. Headers go out at once, a streamed body as fast as the client reads; a client that hangs up
 * cancels the stream. Rejects when the body fails: before the headers an answer is still possible, afterwards the
 * connection is cut, so that the client cannot take half an answer for a whole one.
 */
export async function sendResponse(raw: ServerResponse, response: Response, headOnly: boolean): Promise<void> {
  raw.statusCode = response.status
  for (const [name, value] of Object.entries(defaultHeaders)) raw.setHeader(name, value)
  for (const [name, value] of response.headers) if (name !== 'set-cookie') raw.setHeader(name, value)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) raw.setHeader('set-cookie', cookies)

  if (response.body === null || headOnly) {
    raw.end()
    await response.body?.cancel()
    return
  }
  raw.flushHeaders()
  try {
    await pump(response.body, raw)
    raw.end()
  } catch (error) {
    raw.destroy()
    throw error
  }
}

async function pump(body: ReadableStream<Uint8Array>, raw: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const gone = new AbortController()
  // Cancelling also ends a read that waits for the next piece.
  let cancelled: Promise<void> | undefined
  const hungUp = () => {
    gone.abort()
    cancelled = reader.cancel(new Error('the client hung up'))
  }
  if (raw.destroyed) hungUp()
  else raw.once('close', hungUp)
  try {
    for (let piece = await reader.read(); !piece.done && !gone.signal.aborted; piece = await reader.read()) {
      if (!raw.write(piece.value)) await waitForDrain(raw, gone.signal)
    }
    await cancelled
  } finally {
    raw.off('close', hungUp)
  }
}

/** Waits until the client has read on, or has gone. */
async function waitForDrain(raw: ServerResponse, gone: AbortSignal): Promise<void> {
  try {
    await once(raw, 'drain', { signal: gone })
  } catch (error) {
    if (!gone.aborted) throw error
  }
}
