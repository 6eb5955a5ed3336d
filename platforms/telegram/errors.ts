/**
 * Maps failed calls of the Bot API to `ApiError`. Errors of telegraf and fetch must not leave this
 * adapter, because their messages contain the URL of the call, and the URL contains the token.
 */
import { HermesError, isConnectError, isRecord, messageOf, systemCode } from '#sdk'
import { asId, asNumber, asRecord, asText, type JsonRecord } from './inbound/payload.ts'

export interface ApiErrorDetails {
  /** Telegram's error code; absent when there was no response. */
  readonly code?: number
  readonly retryAfterMs?: number | undefined
  /** The id of the supergroup into which the group was converted. */
  readonly migratedTo?: string | undefined
  /** Telegram has certainly not executed the call. */
  readonly notExecuted: boolean
}

/** A failed call. The message is Telegram's description or the network error. It never contains the token. */
export class ApiError extends Error {
  readonly details: ApiErrorDetails

  constructor(message: string, details: ApiErrorDetails) {
    super(message)
    this.name = 'ApiError'
    this.details = details
  }

  /** Whether Telegram responded with an error whose description matches. */
  matches(pattern: RegExp): boolean {
    return this.details.code !== undefined && pattern.test(this.message)
  }
}

/** Converts everything a call can throw. The original error is not kept as the cause, because it contains the token. */
export function toApiError(thrown: unknown, redact: (text: string) => string): ApiError {
  if (thrown instanceof ApiError) return thrown
  const response = isRecord(thrown) ? thrown['response'] : undefined
  if (isRecord(response) && 'error_code' in response) return parseErrorResponse(response, redact)
  const reason = redact(reasonOf(thrown))
  return new ApiError(`Telegram could not be reached: ${reason}`, { notExecuted: isConnectError(thrown) })
}

/** Parses a response that is not `{"ok": true}`. */
export function parseErrorResponse(response: JsonRecord, redact: (text: string) => string): ApiError {
  const code = asNumber(response['error_code']) ?? 0
  const { retry_after, migrate_to_chat_id } = asRecord(response['parameters'])
  const retryAfter = asNumber(retry_after)
  const migratedTo = asId(migrate_to_chat_id)
  return new ApiError(redact(`Telegram answered ${code}: ${asText(response['description']) ?? 'no description'}`), {
    code,
    retryAfterMs: retryAfter === undefined ? undefined : Math.max(0, retryAfter) * 1_000,
    migratedTo,
    notExecuted: code >= 400 && code < 500,
  })
}

/** Maps a failed call while connecting. Telegram responds with 404 to a token of an invalid form. */
export function toConnectError(error: unknown): HermesError {
  const code = error instanceof ApiError ? error.details.code : undefined
  const cause = { cause: error }
  if (code === 401 || code === 404) return new HermesError('platform/unauthorised', messageOf(error), cause)
  return new HermesError('platform/connect-failed', messageOf(error), cause)
}

/** Removes the token from a text, plain or URL-encoded. */
export function createTokenRedactor(token: string): (text: string) => string {
  const forms = [token, encodeURIComponent(token)]
  return (text) =>
    forms.reduce((clean, form) => clean.replaceAll(form, '<token>'), text).replace(/\/bot[^/\s]+\//g, '/bot<token>/')
}

/** Prefers the cause of an error to its message, because the message may contain the URL of the call. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return messageOf(thrown)
  if (thrown.name === 'TimeoutError') return 'the response timed out'
  if (thrown.name === 'AbortError') return 'the call was aborted'
  const cause = thrown.cause instanceof Error ? thrown.cause : undefined
  const reason = /\breason: (.*)$/s.exec(thrown.message)?.[1] ?? cause?.message ?? thrown.message
  return reason === '' ? (codeOf(thrown) ?? 'unknown') : reason
}

function codeOf(thrown: unknown): string | undefined {
  return systemCode(thrown) ?? (thrown instanceof Error ? systemCode(thrown.cause) : undefined)
}
