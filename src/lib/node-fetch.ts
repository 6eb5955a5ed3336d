/**
 * One request with `fetch`'s types over the HTTP client of Node, which can be told the addresses of a name and how TLS is checked.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { messageOf, systemCode } from './errors.ts'

export interface NodeFetchOptions {
  /** Resolves names when a connection is opened. An error of it is the error of the request. */
  readonly lookup: LookupFunction
  readonly tls?:
    | (Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase'> & { readonly rejectUnauthorized?: boolean })
    | undefined
}

/** Follows no redirect and decodes no compressed body. Rejects with a system error, or with the reason of the signal. */
export type NodeFetch = (url: URL, init?: RequestInit) => Promise<Response>

/** How long `fetch` keeps an unused connection. */
const keepAliveMs = 4_000
const statusesWithoutBody = new Set([101, 103, 204, 205, 304])

export function createNodeFetch({ lookup, tls = {} }: NodeFetchOptions): NodeFetch {
  const shared = { keepAlive: true, timeout: keepAliveMs, lookup }
  const agents = { 'http:': new HttpAgent(shared), 'https:': new HttpsAgent({ ...shared, ...tls }) }
  return async (url, init = {}) => {
    const { signal } = init
    signal?.throwIfAborted()
    // Reads the body in all of its forms, and sets its type.
    const request = new Request(url, { ...init, signal: null, redirect: 'manual' })
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer())
    const isSecure = url.protocol === 'https:'
    const send = isSecure ? requestHttps : requestHttp
    const headers = {
      accept: '*/*',
      'user-agent': 'hermes-gateway',
      ...Object.fromEntries(request.headers),
      'accept-encoding': 'identity',
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
    }
    const options = {
      method: request.method,
      headers,
      agent: agents[isSecure ? 'https:' : 'http:'],
      ...(signal == null ? {} : { signal }),
    }
    try {
      const message = await new Promise<IncomingMessage>((resolve, reject) => {
        send(url, options, resolve).on('error', reject).end(body)
      })
      return toResponse(message, url)
    } catch (error) {
      signal?.throwIfAborted()
      // The error of several addresses has no message.
      if (messageOf(error) !== '') throw error
      throw Object.assign(new Error(`no address could be reached`, { cause: error }), { code: systemCode(error) })
    }
  }
}

function toResponse(message: IncomingMessage, url: URL): Response {
  const { statusCode: status = 0, statusMessage: statusText = '' } = message
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(message.headersDistinct))
    for (const value of values) headers.append(name, value)
  const isEmpty = statusesWithoutBody.has(status)
  if (isEmpty) message.resume()
  const response = new Response(isEmpty ? null : toBody(message), { status, statusText, headers })
  // A response that is built has no address of its own.
  Object.defineProperty(response, 'url', { value: url.href })
  return response
}

/** A body that no one reads and that breaks off is no error of anyone. */
function toBody(message: IncomingMessage): ReadableStream<Uint8Array> {
  let isDone = false
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const finish = (end: () => void) => {
        if (isDone) return
        isDone = true
        end()
      }
      message.on('data', (chunk: Buffer) => {
        if (isDone) return
        controller.enqueue(chunk)
        if ((controller.desiredSize ?? 0) <= 0) message.pause()
      })
      message.once('end', () => finish(() => controller.close()))
      message.on('error', (error) => finish(() => controller.error(error)))
      message.once('close', () => finish(() => controller.error(new Error('the connection was closed'))))
    },
    pull: () => void message.resume(),
    cancel() {
      isDone = true
      message.destroy()
    },
  })
}
