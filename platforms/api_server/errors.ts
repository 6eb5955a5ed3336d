/**
 * Errors in OpenAI's format, so that its clients raise their usual exceptions.
 */
import { type HermesError, isHermesError } from '#sdk'

export interface ApiErrorDetail {
  /** The invalid field, for example `messages[2].content`. */
  readonly param?: string
  readonly code?: string
  readonly type?:
    | 'invalid_request_error'
    | 'permission_error'
    | 'rate_limit_error'
    | 'server_error'
    | 'agent_incomplete'
  readonly retryAfterSeconds?: number
  readonly cause?: unknown
}

export class ApiError extends Error {
  readonly status: number
  readonly detail: ApiErrorDetail

  constructor(status: number, message: string, detail: ApiErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = 'ApiError'
    this.status = status
    this.detail = detail
  }
}

/** An invalid field. */
export function invalidParam(param: string, message: string, code = 'invalid_value'): ApiError {
  return new ApiError(400, `${param}: ${message}`, { param, code })
}

export function errorBody({ message, detail }: ApiError): unknown {
  const { type = 'invalid_request_error', param = null, code = null } = detail
  return { error: { message, type, param, code } }
}

export function errorResponse(error: ApiError, extraHeaders: Readonly<Record<string, string>> = {}): Response {
  const { type, retryAfterSeconds } = error.detail
  const headers = new Headers(extraHeaders)
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(retryAfterSeconds))
  // The turn has run with its tools, or the answer stays the same. OpenAI's clients would otherwise retry.
  if (type === 'agent_incomplete' || error.status === 501) headers.set('x-should-retry', 'false')
  return Response.json(errorBody(error), { status: error.status, headers })
}

/** Maps an error of the gateway. `null` for internal errors, which are only logged. */
export function toApiError(thrown: unknown): ApiError | null {
  if (thrown instanceof ApiError) return thrown
  if (!isHermesError(thrown)) return null
  if (thrown.code === 'inbox/too-large') return fromHermesError(thrown, 413, {})
  if (thrown.code === 'store/full' || thrown.code === 'store/locked') {
    return fromHermesError(thrown, 503, { type: 'server_error', retryAfterSeconds: 5 })
  }
  return null
}

function fromHermesError(error: HermesError, status: number, detail: ApiErrorDetail): ApiError {
  return new ApiError(status, `${error.message} ${error.hint}`, { ...detail, code: error.code, cause: error })
}
