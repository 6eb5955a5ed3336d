/**
 * A `fetch` over `node:http`, as much of it as the SDKs use. The built-in one gives a silent server up after five
 * minutes, which no setting of it changes and which a large model on a small machine needs; it also costs 0.2 ms more
 * CPU a call. Does not follow redirects and does not ask for compression.
 */
import http from 'node:http'
import https from 'node:https'
import type { FetchFunction } from './limit-error-body.ts'

/** Sockets are kept by Node's own agents, which also know the proxy settings of the environment. */
export const httpFetch: FetchFunction = (input, init) =>
  new Promise((resolve, reject) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const body = init?.body ?? undefined
    if (body !== undefined && typeof body !== 'string') throw new TypeError('only texts can be sent')
    const signal = init?.signal ?? undefined
    const request = (url.protocol === 'https:' ? https : http).request(url, {
      method: init?.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init?.headers)),
      ...(signal === undefined ? {} : { signal }),
    })
    // Stays for good: a socket may fail after its response began, and an unheard error ends the process.
    request.on('error', reject)
    request.once('response', (message) => resolve(toResponse(message)))
    request.end(body)
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
