/**
 * Sends a model request through the SDK of a vendor. The SDK handles authentication and errors; its typed methods, its
 * retries and its stream decoder are not used.
 */

import { lazy } from '../../lib/cache.ts'
import type { JsonObject } from '../../lib/json.ts'
import { isRecord } from '../../lib/json.ts'
import type { ModelRequest } from '../support/model-request.ts'
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

/** Sends a request and returns the unread response. Rejects as the SDK does. */
export type ModelTransport = (
  request: WireRequest,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
) => Promise<Response>

/** The part of both SDKs' clients that is used. */
export interface SdkClient {
  post(
    path: string,
    options: SentContent & {
      query: Record<string, unknown>
      signal: AbortSignal
      timeout: number
      fetchOptions: { redirect: 'manual' }
    },
  ): { asResponse(): Promise<Response> }
}

/**
 * `loadClient` is called with the first request, because importing an SDK takes 0.3 s and about 30 MB.
 */
export function createSdkTransport(
  path: string,
  loadClient: () => Promise<SdkClient>,
  pictures: PictureOptions | undefined,
): ModelTransport {
  const client = lazy(loadClient)
  return async ({ body, headers, query }, { signal, timeoutMs }) => {
    const sdk = await client()
    // `post` instead of the typed methods, which remove fields from the body and write warnings to the console.
    // Redirects are not followed: a redirect would turn the POST into a GET or send the key to another host.
    const options = { query, signal, timeout: timeoutMs, fetchOptions: { redirect: 'manual' } } as const
    const send = (content: SentContent) => sdk.post(path, { ...content, ...options }).asResponse()
    if (pictures === undefined || !holdsPictures(body)) return send({ body, headers })
    return (await import('./picture-body.ts')).sendWithPictures({ body, headers, pictures }, send)
  }
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
