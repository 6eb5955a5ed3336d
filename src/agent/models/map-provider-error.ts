/**
 * Maps errors of vendors and of the network to `ModelError`. Its `kind` decides what the caller does next.
 */

import { systemCode } from '../../lib/errors.ts'
import { createSecretMatcher } from '../../lib/find-secrets.ts'
import { asNumber, asRecord, asString, isRecord, type JsonObject } from '../../lib/json.ts'
import { isLoopbackHost } from '../../lib/local-origin.ts'
import { replaceRanges } from '../../lib/redact.ts'
import { toOneLine } from '../../lib/visible-text.ts'
import { ModelError, type ModelErrorKind } from './provider.ts'

/** An error that a vendor reported, in a form independent of the vendor. */
export interface ProviderFailure {
  readonly status?: number | undefined
  readonly type: string
  readonly code: string
  readonly message: string
}

/** Reads `{error: {…}}`, `{error: "…"}`, `{type, code, message}`, `{detail: …}`, a list of one of them, or plain text. */
export function parseProviderFailure(body: unknown, status?: number): ProviderFailure {
  if (typeof body === 'string') return { status, type: '', code: '', message: htmlToText(body) }
  const outer = asRecord(Array.isArray(body) ? body[0] : body)
  if (typeof outer['error'] === 'string') return { status, type: '', code: '', message: outer['error'] }
  const inner = isRecord(outer['error']) ? outer['error'] : outer
  const code = inner['code']
  // Routers put the upstream's status into `code`.
  const ownStatus = typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
  const message = asString(inner['message']) || detailText(inner['detail'])
  return { status: status ?? ownStatus, type: asString(inner['type']), code: asString(code), message }
}

/** Reads a chunk that reports an error. */
export function parseChunkFailure(chunk: JsonObject): ProviderFailure {
  const { error, type } = chunk
  if (isRecord(error) || (typeof error === 'string' && error !== '')) return parseProviderFailure(chunk)
  if (type === 'response.failed') return parseProviderFailure(chunk['response'])
  // Here `type` is the type of the event, not of the error.
  return { ...parseProviderFailure(chunk), type: '' }
}

const CONTEXT_PATTERN =
  /context_length_exceeded|exceed_context_size|prompt is too long|maximum context|context (?:length|window|size)|input is too long|too many tokens|request_too_large|string_above_max_length/
const CONTENT_FILTER_PATTERN =
  /content_filter|content_policy|content management policy|content policy|data_inspection_failed|input was flagged|requires moderation|safety system/
const BILLING_PATTERN =
  /insufficient_quota|billing|credit balance|spend_limit|payment_required|insufficient (?:balance|credits?|funds)|exceeded your current quota/
const AUTH_PATTERN =
  /authentication_error|permission_error|invalid_api_key|invalid_authentication|unauthorized|incorrect api key/
const RATE_LIMIT_PATTERN = /rate_limit|too_many_requests|tokens per min/
const OVERLOADED_PATTERN = /overloaded|api_error|server_error|internal_error|timeout_error|unavailable|bad_gateway/
const INVALID_REQUEST_PATTERN = /invalid_request|not_found|invalid_value|invalid_type|unsupported/

/** The text is examined before the status, because vendors report accounts without credit as 400, 403 and 429. */
export function classifyFailure(failure: ProviderFailure): ModelErrorKind {
  const { status } = failure
  const text = `${failure.code} ${failure.type} ${failure.message}`.toLowerCase()
  const code = `${failure.code} ${failure.type}`.toLowerCase()
  const isClientError = status === undefined || (status >= 400 && status < 500 && status !== 429)
  if (status === 413 || (isClientError && CONTEXT_PATTERN.test(text))) return 'context'
  if (status === 402 || ((status === undefined || status < 500) && BILLING_PATTERN.test(text))) return 'billing'
  if (isClientError && status !== 401 && CONTENT_FILTER_PATTERN.test(text)) return 'content-filter'
  if (status === undefined) return classifyErrorCode(code)
  if (status === 401 || status === 403) return 'auth'
  if (status === 429) return 'rate-limit'
  if (status === 408 || status === 409 || status === 425 || status >= 500) return 'overloaded'
  return AUTH_PATTERN.test(code) ? 'auth' : 'invalid-request'
}

/** For errors without a status, which occur inside a stream. An unknown code means a failure of the vendor, because it had accepted the request. */
function classifyErrorCode(code: string): ModelErrorKind {
  if (AUTH_PATTERN.test(code)) return 'auth'
  if (RATE_LIMIT_PATTERN.test(code)) return 'rate-limit'
  if (OVERLOADED_PATTERN.test(code)) return 'overloaded'
  return INVALID_REQUEST_PATTERN.test(code) ? 'invalid-request' : 'overloaded'
}

export interface ResponseHeaders {
  get(name: string): string | null
}

/** Reads `retry-after-ms`, or `retry-after` in seconds or as a date. Undefined when both are missing or invalid. */
export function parseRetryAfterMs(headers: ResponseHeaders, nowMs: number): number | undefined {
  const exact = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (exact >= 0) return Math.ceil(exact)
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number.parseFloat(text) * 1000)
  // `Date.parse` reads a number as a year or a month.
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

/** The limits of OpenAI, Anthropic, OpenRouter and of the draft of the IETF. Each has a header for the rest and one for the reset. */
const limitHeaders = [
  ...['requests', 'tokens', 'input-tokens', 'output-tokens', 'unified'].map((limit) => [
    `anthropic-ratelimit-${limit}-remaining`,
    `anthropic-ratelimit-${limit}-reset`,
  ]),
  ...['-requests', '-tokens', ''].map((limit) => [`x-ratelimit-remaining${limit}`, `x-ratelimit-reset${limit}`]),
  ['ratelimit-remaining', 'ratelimit-reset'],
] as const

/**
 * When a used-up limit is reset, ms from now: from the headers, or from the body as Codex (`resets_at`, `resets_in_seconds`),
 * Gemini (`details[].retryDelay`) and OpenRouter (`metadata.headers`) send it. Undefined when nothing future is named.
 */
export function parseResetMs(headers: ResponseHeaders | undefined, body: unknown, nowMs: number): number | undefined {
  const outer = asRecord(Array.isArray(body) ? body[0] : body)
  const error = isRecord(outer['error']) ? outer['error'] : outer
  const upstream = Object.entries(asRecord(asRecord(error['metadata'])['headers']))
  const named = new Map(upstream.map(([name, value]) => [name.toLowerCase(), String(value)]))
  const read = (name: string) => headers?.get(name) ?? named.get(name) ?? ''
  const details = Array.isArray(error['details']) ? error['details'] : []
  const texts = [
    // A limit that is not used up is not the cause.
    ...limitHeaders.flatMap(([rest = '', reset = '']) => (/^0*$/.test(read(rest)) ? [read(reset)] : [])),
    ...[error['resets_at'], error['resets_in_seconds'], ...details.map((detail) => asRecord(detail)['retryDelay'])],
  ]
  const known = texts.map((text) => parseMomentMs(String(text ?? ''), nowMs)).filter((ms) => ms > 0)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** `6m0s`, `20ms`, `34.5s`, seconds, a time since 1970 in seconds or milliseconds, or a date. NaN for anything else. */
function parseMomentMs(text: string, nowMs: number): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const value = Number(text)
    if (value > 1e11) return value - nowMs
    return value > 1e9 ? value * 1_000 - nowMs : Math.ceil(value * 1_000)
  }
  const parts = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?$/.exec(text)
  if (text === '' || parts === null) return Date.parse(text) - nowMs
  const [hours = 0, minutes = 0, seconds = 0, ms = 0] = parts.slice(1).map((part) => Number(part ?? 0))
  return Math.ceil(((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms)
}

export interface ProviderErrorContext {
  /** The server, for the message: `api.openai.com`. */
  readonly host: string
  /** Keys and header values that must not appear in a message. */
  readonly secrets: readonly string[]
  readonly now: () => number
}

export function failureToModelError(
  failure: ProviderFailure,
  context: ProviderErrorContext,
  retryAfterMs?: number,
): ModelError {
  const { status, type, code, message } = failure
  const reason = message || [type, code].filter((part) => part !== '').join(', ') || 'no reason given'
  const reported = status === undefined ? 'reported an error' : `answered ${status}`
  const text = `${context.host} ${reported}: ${truncateText(redactKeys(reason, context.secrets), 500)}`
  return new ModelError(classifyFailure(failure), text, { status, retryAfterMs })
}

/** Maps anything that an SDK, `fetch` or the stream reader throws. */
export function mapProviderError(thrown: unknown, context: ProviderErrorContext): ModelError {
  if (thrown instanceof ModelError) return thrown
  const { status, headers, error } = readSdkError(thrown)
  if (status !== undefined) {
    if (status < 400) return failureToModelError(redirectFailure(status, headers), context)
    const requested = headers === undefined ? undefined : parseRetryAfterMs(headers, context.now())
    const retryAfter = requested ?? (status === 429 ? parseResetMs(headers, error, context.now()) : undefined)
    return failureToModelError(parseProviderFailure(error, status), context, retryAfter)
  }
  const root = findRootCause(thrown)
  const code = systemCode(root) ?? ''
  // The cause is dropped: errors of the SDKs and of `fetch` can contain headers and addresses with keys.
  const message = truncateText(redactKeys(root.message, context.secrets), 300)
  const detail = code === '' || message.includes(code) ? message : `${message} (${code})`
  if (/TIMEOUT|ETIMEDOUT/i.test(code)) return new ModelError('timeout', `${context.host} did not answer: ${detail}`)
  if (isInvalidRequestError(root)) return new ModelError('invalid-request', `The request cannot be sent: ${detail}`)
  const text = `The connection to ${context.host} failed: ${detail}`
  if (isCertificateError(code)) return new ModelError('network', text, { maxTries: 1 })
  const isLocalRefusal = code === 'ECONNREFUSED' && isLoopbackHost(context.host)
  return new ModelError('network', text, { isLocalRefusal })
}

/** Both SDKs throw errors with `status`, `headers` and the parsed body as `error`. Read by shape, so that neither SDK is loaded. */
function readSdkError(thrown: unknown): { status?: number; headers?: ResponseHeaders | undefined; error?: unknown } {
  if (!(thrown instanceof Error) || !('status' in thrown) || typeof thrown.status !== 'number') return {}
  const body = 'error' in thrown && thrown.error !== undefined ? thrown.error : thrown.message.replace(/^\d+ /, '')
  const headers = 'headers' in thrown && thrown.headers instanceof Headers ? thrown.headers : undefined
  return { status: asNumber(thrown.status), error: body, headers }
}

/** Redirects are not followed, so that the key is not sent to another host. */
function redirectFailure(status: number, headers: ResponseHeaders | undefined): ProviderFailure {
  const target = headers?.get('location') ?? 'another address'
  return { status, type: '', code: '', message: `a redirect to ${target}. Set base_url to the address it leads to.` }
}

function findRootCause(thrown: unknown): Error {
  let error = thrown instanceof Error ? thrown : new Error(typeof thrown === 'string' ? thrown : 'unknown reason')
  for (let depth = 0; depth < 5 && error.cause instanceof Error; depth += 1) error = error.cause
  // After attempts at several addresses each has its own error, and the outer message is empty.
  const first = error instanceof AggregateError ? error.errors[0] : undefined
  return first instanceof Error ? first : error
}

/** A URL or header that `fetch` rejects before it opens a connection. A retry cannot succeed. */
function isInvalidRequestError(error: Error): boolean {
  return (
    error instanceof TypeError &&
    /invalid (?:header|url|character)|header value|bytestring|parse url|credentials/i.test(error.message)
  )
}

/** A certificate does not become valid by itself within minutes. */
function isCertificateError(code: string): boolean {
  return /^(?:CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED)/.test(code)
}

const KEY_PATTERN = /\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_][\w*-]{6,}|\bBearer\s+\S+/g

/** Replaces the secrets, in all of their encodings, and everything that looks like a key. */
export function redactKeys(text: string, secrets: readonly string[]): string {
  let clean = replaceRanges(text, createSecretMatcher(secrets).find(text), () => '[key]')
  for (const secret of secrets) if (secret.length > 3) clean = clean.replaceAll(secret, '[key]')
  return clean.replace(KEY_PATTERN, '[key]')
}

/** FastAPI servers send `detail`: a string or a list of validation errors. */
function detailText(detail: unknown): string {
  if (detail === undefined) return ''
  return typeof detail === 'string' ? detail : JSON.stringify(detail)
}

/** The error page of a proxy as one line. */
function htmlToText(text: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]
  return toOneLine(title ?? text.replace(/<[^>]*>/g, ' '))
}

function truncateText(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()} …`
}
