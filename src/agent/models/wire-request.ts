/**
 * Splits a `ModelRequest` into what is the JSON body and what is transport. The JavaScript SDKs would send `extra_body`
 * and its sisters literally as fields; plugins rely on them meaning what they mean in Python.
 */

import { isRecord } from '../../lib/json.ts'
import { type JsonObject, ModelError, type ModelRequest } from './provider.ts'

export interface WireRequest {
  readonly body: JsonObject
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The request's own limit of silence; undefined when it names none. */
  readonly timeoutMs: number | undefined
}

/**
 * `extra_body` is laid over the body key by key (not deep), as the Python SDKs do. `stream` stays true whatever it says.
 * Throws `ModelError` (`invalid-request`) when a transport key has a wrong type: middleware wrote it, so say which.
 */
export function toWireRequest(request: ModelRequest): WireRequest {
  const { extra_body: extraBody, extra_headers: extraHeaders, extra_query: extraQuery, timeout, ...body } = request
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
  if (!isRecord(value)) throw wrongType(key, 'an object of texts')
  const result: Record<string, string> = {}
  for (const [name, entry] of Object.entries(value)) {
    if (entry === undefined || entry === null) continue
    if (typeof entry !== 'string' && typeof entry !== 'number' && typeof entry !== 'boolean') {
      throw wrongType(`${key}.${name}`, 'a text')
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
