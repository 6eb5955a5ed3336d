/**
 * How a request reaches a model: its JSON, its headers, and the error of a response that is no success.
 */
import http from 'node:http'
import https from 'node:https'
import { pipeline } from 'node:stream/promises'
import { lazy } from '../../lib/cache.ts'
import { isRecord, type JsonObject, parseJson } from '../../lib/json.ts'
import type { ModelRequest } from '../support/model-request.ts'
import { createPost, type ModelResponse, readPrefix } from './http-post.ts'
import { ModelError } from './provider.ts'
import type { PictureOptions } from './provider-options.ts'
import type { SentContent } from './wire-format.ts'

/** A `ModelRequest` split into the JSON body and the transport settings. */
export interface WireRequest {
  readonly body: JsonObject
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The idle timeout of this request; undefined when it names none. */
  readonly timeoutMs: number | undefined
}

/** Sends a request and returns the unread response. Rejects with `ResponseError`, or with the error of the connection. */
export type ModelTransport = (request: WireRequest, signal: AbortSignal) => Promise<ModelResponse>

export interface ModelEndpoint {
  readonly url: string
  /** Each request has them: how it proves who asks. */
  readonly headers: Readonly<Record<string, string>>
}

/** The SDKs of the vendors are not used: they would take a third of the processor time of a request, 0.3 s and 30 MB. */
export function createTransport(endpoint: ModelEndpoint, pictures: PictureOptions | undefined): ModelTransport {
  const common = {
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'hermes-gateway',
    ...endpoint.headers,
  }
  const postPlain = lazy(() => createPost(endpoint.url))
  return async ({ body, headers, query }, signal) => {
    const post = Object.keys(query).length === 0 ? postPlain() : createPost(withQuery(endpoint.url, query))
    const send = async (content: SentContent) => {
      const text = content.body instanceof ReadableStream ? content.body : JSON.stringify(content.body)
      const response = await post({ headers: { ...common, ...withSmallNames(content.headers) }, body: text }, signal)
      if (response.status < 200 || response.status >= 300) throw await readResponseError(response)
      return response
    }
    if (pictures === undefined || !holdsPictures(body)) return await send({ body, headers })
    return await (await import('./picture-body.ts')).sendWithPictures({ body, headers, pictures }, send)
  }
}

function withQuery(address: string, query: Readonly<Record<string, string>>): URL {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

/** A header of a request replaces the common one, however it is written. */
function withSmallNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** A response that is no success, with the same fields as the errors of the SDKs. */
export class ResponseError extends Error {
  readonly status: number
  readonly headers: Headers
  /** The parsed body, or its text. */
  readonly error: unknown

  constructor(status: number, headers: Headers, text: string) {
    super(`${status} ${text || 'status code (no body)'}`)
    this.name = 'ResponseError'
    this.status = status
    this.headers = headers
    this.error = text === '' ? undefined : (parseJson(text) ?? text)
  }
}

async function readResponseError({ status, headers, body }: ModelResponse): Promise<ResponseError> {
  const known = Object.entries(headers).map(([name, value = '']): [string, string] => [name, String(value)])
  return new ResponseError(status, new Headers(known), await readPrefix(body))
}

/** Whether a message of a request has parts that may be pictures. */
function holdsPictures({ messages, input }: JsonObject): boolean {
  const list = messages ?? input
  return (
    Array.isArray(list) &&
    list.some((item) => isRecord(item) && (hasPicture(item['content']) || hasPicture(item['output'])))
  )
}

const pictureTypes: ReadonlySet<unknown> = new Set(['image', 'image_url', 'input_image'])

function hasPicture(parts: unknown): boolean {
  return (
    Array.isArray(parts) &&
    parts.some((part) => isRecord(part) && (pictureTypes.has(part['type']) || hasPicture(part['content'])))
  )
}

const misnamedKeys = { headers: 'extra_headers', query: 'extra_query', body: 'extra_body' } as const

/**
 * The JavaScript SDKs would send `extra_body`, `extra_headers`, `extra_query` and `timeout` as fields of the body;
 * plugins expect the meaning that these keys have in the Python SDKs. `extra_body` replaces top-level fields of the body
 * (no deep merge); `stream` stays true.
 * Throws `ModelError` (`invalid-request`) with the name of the key when one of them has a wrong type, or when a request uses
 * `headers` or `query`, which a vendor would receive as fields of the body.
 */
export function toWireRequest(request: ModelRequest): WireRequest {
  const { extra_body: extraBody, extra_headers: extraHeaders, extra_query: extraQuery, timeout, ...body } = request
  for (const [key, instead] of Object.entries(misnamedKeys)) {
    if (Object.hasOwn(body, key))
      throw new ModelError('invalid-request', `The request has the key ${key}. Use ${instead} instead.`)
  }
  const extra = extraBody ?? {}
  if (!isRecord(extra)) throw wrongType('extra_body', 'an object')
  return {
    body: { ...body, ...extra, stream: true },
    headers: parseStringMap('extra_headers', extraHeaders),
    query: parseStringMap('extra_query', extraQuery),
    timeoutMs: parseTimeoutMs(timeout),
  }
}

function parseStringMap(key: string, value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {}
  if (!isRecord(value)) throw wrongType(key, 'an object of strings')
  const result: Record<string, string> = {}
  for (const [name, entry] of Object.entries(value)) {
    if (entry === undefined || entry === null) continue
    if (typeof entry !== 'string' && typeof entry !== 'number' && typeof entry !== 'boolean') {
      throw wrongType(`${key}.${name}`, 'a string')
    }
    result[name] = String(entry)
  }
  return result
}

function parseTimeoutMs(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !(value > 0)) throw wrongType('timeout', 'a positive number of seconds')
  return Math.ceil(value * 1000)
}

function wrongType(key: string, expected: string): ModelError {
  return new ModelError('invalid-request', `The request's ${key} is not ${expected}.`)
}

export type FetchFunction = typeof globalThis.fetch

/**
 * A `fetch` over `node:http` with the features that the SDKs use. The built-in `fetch` aborts after five minutes without data,
 * which cannot be configured and is too short for a large model on a small machine. It also needs 0.2 ms more CPU per call. This
 * one neither follows redirects nor asks for compression. Node's own agents keep the sockets alive; they also read the proxy
 * settings of the environment.
 */
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
      headers: Object.fromEntries(init?.headers instanceof Headers ? init.headers : new Headers(init?.headers)),
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
  const headers = Object.entries(message.headers).flatMap(([name, value = []]) =>
    (Array.isArray(value) ? value : [value]).map((entry): [string, string] => [name, entry]),
  )
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
