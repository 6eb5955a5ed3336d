/**
 * Responses of the server itself (errors, health) as plain data, and the default headers of all responses.
 */
import { type CatalogueEntry, type ErrorCode, errorCatalogue } from '../lib/error-catalogue.ts'
import { HermesError } from '../lib/errors.ts'

export interface JsonResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body: unknown
}

/** Defaults that forbid framing, sniffing, caching and loading of resources. A response can override them. */
export const defaultHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** The HTTP status of an error. 500 for errors that the client can neither correct nor wait for. */
const statusByCode: Partial<Record<ErrorCode, number>> = {
  'http/bad-request': 400,
  'delivery/no-target': 400,
  'http/unauthorised': 401,
  'http/forbidden-host': 403,
  'inbox/refused': 403,
  'http/not-found': 404,
  'sessions/not-found': 404,
  'sessions/busy': 409,
  'config/changed': 409,
  'config/invalid': 422,
  'config/unreadable': 422,
  'approvals/not-found': 404,
  'approvals/answered': 409,
  'approvals/expired': 410,
  'approvals/refused': 403,
  'pairing/rejected': 404,
  'pairing/not-paired': 404,
  'pairing/listed': 409,
  'http/method-not-allowed': 405,
  'http/timeout': 408,
  'http/too-large': 413,
  'inbox/too-large': 413,
  'media/too-large': 413,
  'media/picture-too-large': 413,
  'media/picture-refused': 400,
  'media/too-many': 400,
  'media/upload-gone': 410,
  'media/not-fetched': 400,
  'media/uploads-full': 507,
  'http/starting': 503,
  'http/busy': 503,
  'store/locked': 503,
  'store/unavailable': 503,
  'store/replaced': 503,
  'store/too-many-reads': 503,
  'store/full': 507,
}

export function statusOf(code: ErrorCode): number {
  return statusByCode[code] ?? (code.startsWith('provider/') ? 502 : 500)
}

/**
 * `{"error":{"code","former_code"?,"message","hint","type","param"}}` with the status of the code, or the given status.
 * `type` and `param` are fields of OpenAI's format, so that its clients read the errors of the gateway under `/v1`, too.
 */
export function createErrorResponse(
  error: HermesError,
  headers: Readonly<Record<string, string>> = {},
  status?: number,
): JsonResponse {
  const { code, message, hint } = error
  const { formerCode }: CatalogueEntry = errorCatalogue[code]
  const sent = status ?? statusOf(code)
  const type = errorType(sent)
  return { status: sent, headers, body: { error: { code, former_code: formerCode, message, hint, type, param: null } } }
}

function errorType(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/**
 * The response for an error that a route threw. Only the owner receives details such as paths and causes; other clients receive
 * the text of the catalogue.
 */
export function toErrorResponse(thrown: unknown, forOwner: boolean): JsonResponse {
  if (!(thrown instanceof HermesError)) return createErrorResponse(new HermesError('http/internal'))
  if (forOwner) return createErrorResponse(thrown)
  return createErrorResponse(new HermesError(thrown.code, '', { hint: errorCatalogue[thrown.code].hint }))
}
