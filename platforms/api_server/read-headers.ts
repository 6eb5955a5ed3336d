/**
 * Reads what every route takes: the headers of a request and its JSON.
 */
import { isRecord, isTooComplex } from '#sdk'
import { ApiError, invalidParam } from './errors.ts'

export interface RequestHeaders {
  /** `X-Hermes-Session-Id`: the session to continue. */
  readonly sessionId: string | undefined
  /** `X-Hermes-Session-Key`: what the client calls the person or channel behind its sessions. */
  readonly sessionKey: string | undefined
  /** `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined
}

/** Throws `ApiError` 400 with the name of the header. */
export function readHeaders(headers: Headers): RequestHeaders {
  return {
    sessionId: readHeader(headers, 'x-hermes-session-id', sessionIdPattern, sessionIdRule),
    sessionKey: readHeader(
      headers,
      'x-hermes-session-key',
      sessionKeyPattern,
      'expected 1 to 256 visible ASCII characters',
    ),
    idempotencyKey: readHeader(
      headers,
      'idempotency-key',
      idempotencyKeyPattern,
      'expected 1 to 255 visible ASCII characters',
    ),
  }
}

const sessionIdPattern = /^[A-Za-z0-9._~@:+=-]{1,128}$/
const sessionIdRule = 'expected 1 to 128 letters, digits or . _ ~ @ : + = -'
const sessionKeyPattern = /^[\x21-\x7e]{1,256}$/
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/

function readHeader(headers: Headers, name: string, pattern: RegExp, expected: string): string | undefined {
  const value = headers.get(name)
  if (value === null) return undefined
  if (!pattern.test(value)) throw invalidParam(name, expected)
  return value
}

/** A session that is named in a body. Throws `ApiError` 400. */
export function checkSessionId(value: string, at: string): string {
  if (!sessionIdPattern.test(value)) throw invalidParam(at, sessionIdRule)
  return value
}

/** Throws `ApiError` 400. */
export function parseBody(bytes: Uint8Array): Record<string, unknown> {
  const body = parseJson(bytes)
  if (!isRecord(body)) throw new ApiError(400, 'The body must be a JSON object.', { code: 'invalid_json' })
  return body
}

function parseJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ApiError(400, 'The body is not valid UTF-8.', { code: 'invalid_json', cause })
  }
  if (isTooComplex(text))
    throw new ApiError(400, 'The body has more than 100,000 keys or 1,000 levels.', { code: 'invalid_json' })
  try {
    return JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : ''
    throw new ApiError(400, `The body is not valid JSON: ${reason}`, { code: 'invalid_json', cause })
  }
}
