/**
 * Answers the server gives by itself (errors, health), as plain data, and the headers every response carries.
 */
import { type CatalogueEntry, type ErrorCode, errorCatalogue } from '../lib/error-catalogue.ts'
import { HermesError } from '../lib/errors.ts'

export interface JsonResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body: unknown
}

/** For responses that say nothing else: nothing may be framed, sniffed, cached, or loaded by what we send. */
export const defaultHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** The HTTP status of an error; 500 for everything that is not the client's to mend or to wait for. */
const statusByCode: Partial<Record<ErrorCode, number>> = {
  'http/bad-request': 400,
  'http/unauthorised': 401,
  'http/forbidden-host': 403,
  'inbox/refused': 403,
  'http/not-found': 404,
  'http/method-not-allowed': 405,
  'http/timeout': 408,
  'http/too-large': 413,
  'inbox/too-large': 413,
  'http/starting': 503,
  'http/busy': 503,
  'store/locked': 503,
  'store/replaced': 503,
  'store/full': 507,
}

export function statusOf(code: ErrorCode): number {
  return statusByCode[code] ?? 500
}

/** `{"error":{"code","former_code"?,"message","hint"}}` with the status that belongs to the code, or the given one. */
export function createErrorResponse(
  error: HermesError,
  headers: Readonly<Record<string, string>> = {},
  status?: number,
): JsonResponse {
  const { code, message, hint } = error
  const { formerCode }: CatalogueEntry = errorCatalogue[code]
  const former = formerCode === undefined ? {} : { former_code: formerCode }
  return { status: status ?? statusOf(code), headers, body: { error: { code, ...former, message, hint } } }
}

/**
 * What a client is told of an error that a route threw. Details (paths, causes) are for the owner; strangers get the
 * catalogue's own words.
 */
export function toErrorResponse(thrown: unknown, forOwner: boolean): JsonResponse {
  if (!(thrown instanceof HermesError)) return createErrorResponse(new HermesError('http/internal'))
  if (forOwner) return createErrorResponse(thrown)
  return createErrorResponse(new HermesError(thrown.code, '', { hint: errorCatalogue[thrown.code].hint }))
}
