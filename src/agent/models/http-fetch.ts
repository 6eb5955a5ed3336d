/**
 * A `fetch` over `node:http` with the features that the SDKs use. The built-in `fetch` aborts after five minutes
 * without data, which cannot be configured and is too short for a large model on a small machine. It also needs 0.2 ms
 * more CPU per call. This one neither follows redirects nor asks for compression.
 */
import http from 'node:http'
import https from 'node:https'
import { pipeline } from 'node:stream/promises'

export type FetchFunction = typeof globalThis.fetch

/** Node's own agents keep the sockets alive; they also read the proxy settings of the environment. */
export const httpFetch: FetchFunction = (input, init) =>
  new Promise((resolve, reject) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const body = init?.body ?? undefined
    const isStream = body instanceof ReadableStream
    if (body !== undefined && typeof body !== 'string' && !isStream)
      throw new TypeError('only strings and streams can be sent')
    const signal = init?.signal ?? undefined
    const request = (url.protocol === 'https:' ? https : http).request(url, {
      method: init?.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init?.headers)),
      signal,
    })
    // Never removed: a socket may fail after its response has begun, and an error without a listener ends the process.
    request.on('error', reject)
    request.once('response', (message) => resolve(toResponse(message)))
    if (isStream) pipeline(body, request).catch(reject)
    else request.end(body)
  })

const NO_BODY_STATUSES = new Set([204, 205, 304])

function toResponse(message: http.IncomingMessage): Response {
  const status = message.statusCode ?? 0
  const headers = new Headers()
  for (const [name, value] of Object.entries(message.headers)) {
    for (const entry of Array.isArray(value) ? value : [value]) if (entry !== undefined) headers.append(name, entry)
  }
  if (NO_BODY_STATUSES.has(status)) message.resume()
  return new Response(NO_BODY_STATUSES.has(status) ? null : toBodyStream(message), { status, headers })
}

function toBodyStream(message: http.IncomingMessage): ReadableStream<Uint8Array> {
  let isOpen = true
  const close = (): boolean => {
    const wasOpen = isOpen
    isOpen = false
    return wasOpen
  }
  return new ReadableStream<Uint8Array>({
    start(controller) {
      message.on('data', (bytes: Buffer) => {
        if (!isOpen) return
        controller.enqueue(bytes)
        if ((controller.desiredSize ?? 0) <= 0) message.pause()
      })
      message.on('end', () => close() && controller.close())
      message.on('error', (error) => close() && controller.error(error))
    },
    pull() {
      message.resume()
    },
    cancel() {
      close()
      message.destroy()
    },
  })
}

/** A `fetch` that limits the body of an error response. The SDKs read such a body completely, whatever its length. */
export function limitErrorBody(fetch: FetchFunction): FetchFunction {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.ok || response.body === null) return response
    const text = await readBodyPrefix(response.body)
    return new Response(text, { status: response.status, headers: response.headers })
  }
}

const MAX_PREFIX_CHARS = 64 * 1024

/** Reads at most 64 Ki characters of a body and discards the rest. */
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
