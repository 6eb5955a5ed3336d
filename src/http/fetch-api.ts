/**
 * Converts between Node's HTTP and the Fetch API: routes of platforms receive a `Request` and return a `Response`.
 */
import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import process from 'node:process'
import { defaultHeaders } from './json-response.ts'

export interface RequestParts {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  /** The received bytes, over which webhooks are signed. */
  readonly body: Uint8Array | undefined
  readonly signal: AbortSignal
  /** A header that the route does not receive. */
  readonly omitHeader?: string | undefined
}

/** Throws a TypeError for headers that the Fetch API does not allow. */
export function toRequest({ method, url, headers, body, signal, omitHeader }: RequestParts): Request {
  const copied: [name: string, value: string][] = []
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name === omitHeader) continue
    for (const part of Array.isArray(value) ? value : [value]) copied.push([name, part])
  }
  const hasBody = method !== 'GET' && body !== undefined && body.length > 0
  const request = new Request(url, { method, headers: copied, body: hasBody ? body : null })
  // The constructor would make a signal that follows this one, which costs as much as the rest of it.
  return Object.defineProperty(request, 'signal', { value: signal })
}

/**
 * Sends a response: the headers immediately, a streamed body as fast as the client reads. A client that disconnects cancels
 * the stream. Rejects if the body fails. If the headers were already sent, the connection is destroyed, so that the client
 * does not mistake a partial body for a complete one.
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
  // What the body has at once goes out together with the headers.
  const { socket } = raw
  socket?.cork()
  process.nextTick(() => socket?.uncork())
  raw.flushHeaders()
  try {
    await pump(response.body, raw)
    raw.end()
  } catch (error) {
    socket?.uncork()
    raw.destroy()
    throw error
  }
}

async function pump(body: ReadableStream<Uint8Array>, raw: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const disconnected = new AbortController()
  // Cancelling also ends a pending read.
  let cancelled: Promise<void> | undefined
  const onClose = () => {
    disconnected.abort()
    cancelled = reader.cancel(new Error('the client disconnected'))
  }
  if (raw.destroyed) onClose()
  else raw.once('close', onClose)
  try {
    for (let chunk = await reader.read(); !chunk.done && !disconnected.signal.aborted; chunk = await reader.read()) {
      if (!raw.write(chunk.value)) await waitForDrain(raw, disconnected.signal)
    }
    await cancelled
  } finally {
    raw.off('close', onClose)
  }
}

/** Waits until the client reads on or disconnects. */
async function waitForDrain(raw: ServerResponse, disconnected: AbortSignal): Promise<void> {
  try {
    await once(raw, 'drain', { signal: disconnected })
  } catch (error) {
    if (!disconnected.aborted) throw error
  }
}
