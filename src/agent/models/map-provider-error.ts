/**
 * Turns what a vendor or the network reports into one `ModelError`, sorted by what the caller does next.
 */
import { systemCode } from '../../lib/errors.ts'
import { asNumber, asRecord, asString, isRecord } from '../../lib/json.ts'
import { ModelError, type ModelErrorKind } from './provider.ts'

/** A vendor's error, whichever of the usual shapes it came in. */
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

/** The error inside a stream's chunk, undefined for ordinary chunks. */
export function failureInChunk(chunk: Readonly<Record<string, unknown>>): ProviderFailure | undefined {
  const { error, type } = chunk
  if (isRecord(error) || (typeof error === 'string' && error !== '')) return parseProviderFailure(chunk)
  if (type === 'error') return { ...parseProviderFailure(chunk), type: '' }
  if (type === 'response.failed') return parseProviderFailure(chunk['response'])
  return undefined
}

const CONTEXT_PATTERN =
  /context_length_exceeded|exceed_context_size|prompt is too long|maximum context|context (?:length|window|size)|input is too long|too many tokens|request_too_large|string_above_max_length/
const BILLING_PATTERN =
  /insufficient_quota|billing|credit balance|spend_limit|payment_required|insufficient (?:balance|credits?|funds)|exceeded your current quota/
const AUTH_PATTERN =
  /authentication_error|permission_error|invalid_api_key|invalid_authentication|unauthorized|incorrect api key/
const RATE_LIMIT_PATTERN = /rate_limit|too_many_requests|tokens per min/
const OVERLOADED_PATTERN = /overloaded|api_error|server_error|internal_error|timeout_error|unavailable|bad_gateway/
const INVALID_REQUEST_PATTERN = /invalid_request|not_found|invalid_value|invalid_type|unsupported/

/** Which problem it is. The words decide before the status: vendors report empty accounts as 400, 403 and 429. */
export function classifyFailure(fault: ProviderFailure): ModelErrorKind {
  const { status } = fault
  const words = `${fault.code} ${fault.type} ${fault.message}`.toLowerCase()
  const code = `${fault.code} ${fault.type}`.toLowerCase()
  const isClientFault = status === undefined || (status >= 400 && status < 500 && status !== 429)
  if (status === 413 || (isClientFault && CONTEXT_PATTERN.test(words))) return 'context'
  if (status === 402 || ((status === undefined || status < 500) && BILLING_PATTERN.test(words))) return 'billing'
  if (status === undefined) return classifyErrorCode(code)
  if (status === 401 || status === 403) return 'auth'
  if (status === 429) return 'rate-limit'
  if (status === 408 || status === 409 || status >= 500) return 'overloaded'
  return AUTH_PATTERN.test(code) ? 'auth' : 'invalid-request'
}

/** An error inside a stream has no status. One that says nothing known is the vendor's own failure: it had accepted. */
function classifyErrorCode(code: string): ModelErrorKind {
  if (AUTH_PATTERN.test(code)) return 'auth'
  if (RATE_LIMIT_PATTERN.test(code)) return 'rate-limit'
  if (OVERLOADED_PATTERN.test(code)) return 'overloaded'
  return INVALID_REQUEST_PATTERN.test(code) ? 'invalid-request' : 'overloaded'
}

export interface ResponseHeaders {
  get(name: string): string | null
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. Undefined where there is none that can be read. */
export function parseRetryAfterMs(headers: ResponseHeaders, nowMs: number): number | undefined {
  const exact = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (exact >= 0) return Math.ceil(exact)
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number.parseFloat(text) * 1000)
  // `Date.parse` takes a mere number for a year or a month.
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

export interface ProviderErrorContext {
  /** Who answered, for the message: `api.openai.com`. */
  readonly host: string
  /** Keys and header values that must not show up in a message. */
  readonly secrets: readonly string[]
  readonly now: () => number
}

export function failureToModelError(
  fault: ProviderFailure,
  context: ProviderErrorContext,
  retryAfter?: number,
): ModelError {
  const problem = classifyFailure(fault)
  const said = fault.message || [fault.type, fault.code].filter((part) => part !== '').join(', ') || 'no reason given'
  const answered = fault.status === undefined ? 'reported an error' : `answered ${fault.status}`
  const text = redactKeys(`${context.host} ${answered}: ${truncateText(said, 500)}`, context.secrets)
  return new ModelError(problem, text, { status: fault.status, retryAfterMs: retryAfter })
}

/** Anything thrown by an SDK, `fetch` or our own reading as a `ModelError`. */
export function mapProviderError(thrown: unknown, context: ProviderErrorContext): ModelError {
  if (thrown instanceof ModelError) return thrown
  const { status, headers, error } = readSdkError(thrown)
  if (status !== undefined) {
    if (status < 400) return failureToModelError(redirectFailure(status, headers), context)
    const retryAfter = headers === undefined ? undefined : parseRetryAfterMs(headers, context.now())
    return failureToModelError(parseProviderFailure(error, status), context, retryAfter)
  }
  const root = findRootCause(thrown)
  const code = systemCode(root) ?? ''
  // No cause is kept: what the SDKs and `fetch` throw can quote headers and addresses, keys included.
  const said = redactKeys(truncateText(root.message, 300), context.secrets)
  const detail = code === '' || said.includes(code) ? said : `${said} (${code})`
  if (/TIMEOUT|ETIMEDOUT/i.test(code)) return new ModelError('timeout', `${context.host} did not answer: ${detail}`)
  if (isInvalidRequestError(root)) return new ModelError('invalid-request', `The request cannot be sent: ${detail}`)
  return new ModelError('network', `The connection to ${context.host} failed: ${detail}`)
}

/** Both SDKs throw errors with `status`, `headers` and the parsed body as `error`; read by shape, so neither is loaded. */
function readSdkError(thrown: unknown): { status?: number; headers?: ResponseHeaders; error?: unknown } {
  if (!(thrown instanceof Error) || !('status' in thrown) || typeof thrown.status !== 'number') return {}
  const body = 'error' in thrown && thrown.error !== undefined ? thrown.error : thrown.message.replace(/^\d+ /, '')
  const headers = 'headers' in thrown && thrown.headers instanceof Headers ? thrown.headers : undefined
  return { status: asNumber(thrown.status), error: body, ...(headers === undefined ? {} : { headers }) }
}

/** Redirects are not followed: the key must not travel, and a followed POST becomes a GET. */
function redirectFailure(status: number, headers: ResponseHeaders | undefined): ProviderFailure {
  const target = headers?.get('location') ?? 'another address'
  return { status, type: '', code: '', message: `a redirect to ${target}. Set base_url to the address it leads to.` }
}

function findRootCause(thrown: unknown): Error {
  let error = thrown instanceof Error ? thrown : new Error(typeof thrown === 'string' ? thrown : 'unknown reason')
  for (let depth = 0; depth < 5 && error.cause instanceof Error; depth += 1) error = error.cause
  // Where several addresses were tried, each has its own error and the outer one is empty.
  const first = error instanceof AggregateError ? error.errors[0] : undefined
  return first instanceof Error ? first : error
}

/** A URL or header that `fetch` refuses before it opens a connection: trying again cannot help. */
function isInvalidRequestError(error: Error): boolean {
  return (
    error instanceof TypeError &&
    /invalid (?:header|url|character)|header value|bytestring|parse url|credentials/i.test(error.message)
  )
}

const KEY_PATTERN = /\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_][\w*-]{6,}|\bBearer\s+\S+/g

/** The text without the given secrets and without anything that looks like a key. */
export function redactKeys(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) if (secret.length > 3) clean = clean.replaceAll(secret, '[key]')
  return clean.replace(KEY_PATTERN, '[key]')
}

/** FastAPI servers say `detail`: a text or a list of complaints. */
function detailText(detail: unknown): string {
  if (detail === undefined) return ''
  return typeof detail === 'string' ? detail : JSON.stringify(detail)
}

/** A proxy's error page as one line. */
function htmlToText(text: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]
  return (title ?? text.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ').trim()
}

function truncateText(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()} …`
}
