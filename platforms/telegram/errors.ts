/**
 * What went wrong with a call of the Bot API, and what the sender should do about it. Whatever telegraf or fetch threw ends
 * here: their messages hold the address of the call, and the address holds the token.
 */
import { isConnectError, messageOf, type SendResult, systemCode } from '#sdk'
import { asId, asNumber, asRecord, asText, isRecord, type JsonRecord } from './inbound/payload.ts'

export interface ApiErrorDetails {
  /** Telegram's error code; absent where no answer came. */
  readonly code?: number
  readonly retryAfterMs?: number
  /** The group has become a supergroup with this id. */
  readonly migratedTo?: string
  /** The call has certainly not been carried out. */
  readonly notExecuted: boolean
}

/** A failed call. Its message is Telegram's own description, or what happened on the way; never the token. */
export class ApiError extends Error {
  readonly details: ApiErrorDetails

  constructor(message: string, facts: ApiErrorDetails) {
    super(message)
    this.name = 'ApiError'
    this.details = facts
  }

  /** Telegram has answered no, in words that match. */
  matches(words: RegExp): boolean {
    return this.details.code !== undefined && words.test(this.message)
  }
}

/** Everything a call can throw, as an `ApiError`. The original is left behind, because it holds the token. */
export function toApiError(thrown: unknown, redact: (text: string) => string): ApiError {
  if (thrown instanceof ApiError) return thrown
  const answer = isRecord(thrown) ? thrown['response'] : undefined
  if (isRecord(answer) && 'error_code' in answer) return parseErrorResponse(answer, redact)
  const reason = redact(reasonOf(thrown))
  return new ApiError(`Telegram could not be reached: ${reason}`, { notExecuted: isConnectError(thrown) })
}

/** An answer that is not `{"ok": true}`. */
export function parseErrorResponse(answer: JsonRecord, redact: (text: string) => string): ApiError {
  const code = asNumber(answer['error_code']) ?? 0
  const { retry_after, migrate_to_chat_id } = asRecord(answer['parameters'])
  const retryAfter = asNumber(retry_after)
  const migratedTo = asId(migrate_to_chat_id)
  return new ApiError(redact(`Telegram answered ${code}: ${asText(answer['description']) ?? 'no description'}`), {
    code,
    ...(retryAfter === undefined ? {} : { retryAfterMs: Math.max(0, retryAfter) * 1_000 }),
    ...(migratedTo === undefined ? {} : { migratedTo }),
    notExecuted: code >= 400 && code < 500,
  })
}

/** What the outbox should do next. */
export function toSendResult({ message: error, details: facts }: ApiError): Extract<SendResult, { success: false }> {
  const { code, retryAfterMs, notExecuted } = facts
  if (code === 401) return { success: false, problem: 'unauthorised', error }
  if (code === 429) {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
    return { success: false, problem: 'rate-limited', error, ...wait }
  }
  if (code !== undefined && code >= 400 && code < 500) return { success: false, problem: 'rejected', error }
  return { success: false, problem: 'temporary', error, ...(notExecuted ? {} : { maybeSent: true }) }
}

/** Takes the token out of a text, in the forms in which it stands in addresses. */
export function createTokenRedactor(token: string): (text: string) => string {
  const forms = [token, encodeURIComponent(token)]
  return (text) =>
    forms.reduce((clean, form) => clean.replaceAll(form, '<token>'), text).replace(/\/bot[^/\s]+\//g, '/bot<token>/')
}

/** Short, and without the address of the call where the error says more than that. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return messageOf(thrown)
  if (thrown.name === 'TimeoutError') return 'no answer in time'
  if (thrown.name === 'AbortError') return 'the call was called off'
  const cause = thrown.cause instanceof Error ? thrown.cause : undefined
  const said = /\breason: (.*)$/s.exec(thrown.message)?.[1] ?? cause?.message ?? thrown.message
  return said === '' ? (codeOf(thrown) ?? 'unknown') : said
}

function codeOf(thrown: unknown): string | undefined {
  return systemCode(thrown) ?? (thrown instanceof Error ? systemCode(thrown.cause) : undefined)
}
