/**
 * Turns what a vendor or the network reports into one `ModelError`, sorted by what the caller does next.
 */
import { systemCode } from '../../lib/errors.ts'
import { ModelError, type ModelProblem } from '../provider.ts'
import { isRecord, num, record, str } from './json.ts'

/** A vendor's error, whichever of the usual shapes it came in. */
export interface Fault {
  readonly status?: number | undefined
  readonly type: string
  readonly code: string
  readonly message: string
}

/** Reads `{error: {…}}`, `{error: "…"}`, `{type, code, message}`, `{detail: …}`, a list of one of them, or plain text. */
export function readFault(body: unknown, status?: number): Fault {
  if (typeof body === 'string') return { status, type: '', code: '', message: plainText(body) }
  const outer = record(Array.isArray(body) ? body[0] : body)
  if (typeof outer['error'] === 'string') return { status, type: '', code: '', message: outer['error'] }
  const inner = isRecord(outer['error']) ? outer['error'] : outer
  const code = inner['code']
  // Routers put the upstream's status into `code`.
  const ownStatus = typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
  const message = str(inner['message']) || detailText(inner['detail'])
  return { status: status ?? ownStatus, type: str(inner['type']), code: str(code), message }
}

/** The error inside a stream's chunk, undefined for ordinary chunks. */
export function faultInChunk(chunk: Readonly<Record<string, unknown>>): Fault | undefined {
  const { error, type } = chunk
  if (isRecord(error) || (typeof error === 'string' && error !== '')) return readFault(chunk)
  if (type === 'error') return { ...readFault(chunk), type: '' }
  if (type === 'response.failed') return readFault(chunk['response'])
  return undefined
}

const CONTEXT =
  /context_length_exceeded|exceed_context_size|prompt is too long|maximum context|context (?:length|window|size)|input is too long|too many tokens|request_too_large|string_above_max_length/
const BILLING =
  /insufficient_quota|billing|credit balance|spend_limit|payment_required|insufficient (?:balance|credits?|funds)|exceeded your current quota/
const AUTH =
  /authentication_error|permission_error|invalid_api_key|invalid_authentication|unauthorized|incorrect api key/
const RATE = /rate_limit|too_many_requests|tokens per min/
const OVERLOADED = /overloaded|api_error|server_error|internal_error|timeout_error|unavailable|bad_gateway/
const INVALID = /invalid_request|not_found|invalid_value|invalid_type|unsupported/

/** Which problem it is. The words decide before the status: vendors report empty accounts as 400, 403 and 429. */
export function problemOf(fault: Fault): ModelProblem {
  const { status } = fault
  const words = `${fault.code} ${fault.type} ${fault.message}`.toLowerCase()
  const code = `${fault.code} ${fault.type}`.toLowerCase()
  const isClientFault = status === undefined || (status >= 400 && status < 500 && status !== 429)
  if (status === 413 || (isClientFault && CONTEXT.test(words))) return 'context'
  if (status === 402 || ((status === undefined || status < 500) && BILLING.test(words))) return 'billing'
  if (status === undefined) return problemOfWords(code)
  if (status === 401 || status === 403) return 'auth'
  if (status === 429) return 'rate-limit'
  if (status === 408 || status === 409 || status >= 500) return 'overloaded'
  return AUTH.test(code) ? 'auth' : 'invalid-request'
}

/** An error inside a stream has no status. One that says nothing known is the vendor's own failure: it had accepted. */
function problemOfWords(code: string): ModelProblem {
  if (AUTH.test(code)) return 'auth'
  if (RATE.test(code)) return 'rate-limit'
  if (OVERLOADED.test(code)) return 'overloaded'
  return INVALID.test(code) ? 'invalid-request' : 'overloaded'
}

export interface HeaderLookup {
  get(name: string): string | null
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. Undefined where there is none that can be read. */
export function retryAfterMs(headers: HeaderLookup, nowMs: number): number | undefined {
  const exact = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (exact >= 0) return Math.ceil(exact)
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number.parseFloat(text) * 1000)
  // `Date.parse` takes a mere number for a year or a month.
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

export interface FaultContext {
  /** Who answered, for the message: `api.openai.com`. */
  readonly host: string
  /** Keys and header values that must not show up in a message. */
  readonly secrets: readonly string[]
  readonly now: () => number
}

export function faultError(fault: Fault, context: FaultContext, retryAfter?: number): ModelError {
  const problem = problemOf(fault)
  const said = fault.message || [fault.type, fault.code].filter((part) => part !== '').join(', ') || 'no reason given'
  const answered = fault.status === undefined ? 'reported an error' : `answered ${fault.status}`
  const text = redact(`${context.host} ${answered}: ${shorten(said, 500)}`, context.secrets)
  return new ModelError(problem, text, { status: fault.status, retryAfterMs: retryAfter })
}

/** Anything thrown by an SDK, `fetch` or our own reading as a `ModelError`. */
export function toModelError(thrown: unknown, context: FaultContext): ModelError {
  if (thrown instanceof ModelError) return thrown
  const { status, headers, error } = sdkError(thrown)
  if (status !== undefined) {
    if (status < 400) return faultError(redirectFault(status, headers), context)
    const retryAfter = headers === undefined ? undefined : retryAfterMs(headers, context.now())
    return faultError(readFault(error, status), context, retryAfter)
  }
  const root = rootCause(thrown)
  const code = systemCode(root) ?? ''
  // No cause is kept: what the SDKs and `fetch` throw can quote headers and addresses, keys included.
  const said = redact(shorten(root.message, 300), context.secrets)
  const detail = code === '' || said.includes(code) ? said : `${said} (${code})`
  if (/TIMEOUT|ETIMEDOUT/i.test(code)) return new ModelError('timeout', `${context.host} did not answer: ${detail}`)
  if (isProgrammingError(root)) return new ModelError('invalid-request', `The request cannot be sent: ${detail}`)
  return new ModelError('network', `The connection to ${context.host} failed: ${detail}`)
}

/** Both SDKs throw errors with `status`, `headers` and the parsed body as `error`; read by shape, so neither is loaded. */
function sdkError(thrown: unknown): { status?: number; headers?: HeaderLookup; error?: unknown } {
  if (!(thrown instanceof Error) || !('status' in thrown) || typeof thrown.status !== 'number') return {}
  const body = 'error' in thrown && thrown.error !== undefined ? thrown.error : thrown.message.replace(/^\d+ /, '')
  const headers = 'headers' in thrown && thrown.headers instanceof Headers ? thrown.headers : undefined
  return { status: num(thrown.status), error: body, ...(headers === undefined ? {} : { headers }) }
}

/** Redirects are not followed: the key must not travel, and a followed POST becomes a GET. */
function redirectFault(status: number, headers: HeaderLookup | undefined): Fault {
  const target = headers?.get('location') ?? 'another address'
  return { status, type: '', code: '', message: `a redirect to ${target}. Set base_url to the address it leads to.` }
}

function rootCause(thrown: unknown): Error {
  let error = thrown instanceof Error ? thrown : new Error(typeof thrown === 'string' ? thrown : 'unknown reason')
  for (let depth = 0; depth < 5 && error.cause instanceof Error; depth += 1) error = error.cause
  // Where several addresses were tried, each has its own error and the outer one is empty.
  const first = error instanceof AggregateError ? error.errors[0] : undefined
  return first instanceof Error ? first : error
}

/** A URL or header that `fetch` refuses before it opens a connection: trying again cannot help. */
function isProgrammingError(error: Error): boolean {
  return (
    error instanceof TypeError &&
    /invalid (?:header|url|character)|header value|bytestring|parse url|credentials/i.test(error.message)
  )
}

const KEY_SHAPES = /\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_][\w*-]{6,}|\bBearer\s+\S+/g

/** The text without the given secrets and without anything that looks like a key. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) if (secret.length > 3) clean = clean.replaceAll(secret, '[key]')
  return clean.replace(KEY_SHAPES, '[key]')
}

/** FastAPI servers say `detail`: a text or a list of complaints. */
function detailText(detail: unknown): string {
  if (detail === undefined) return ''
  return typeof detail === 'string' ? detail : JSON.stringify(detail)
}

/** A proxy's error page as one line. */
function plainText(text: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]
  return (title ?? text.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ').trim()
}

function shorten(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()} …`
}
