/**
 * What went wrong with a call of the Bot API, and what the sender should do about it. Whatever telegraf or fetch threw ends
 * here: their messages hold the address of the call, and the address holds the token.
 */
import { messageOf, neverArrived, type SendResult, systemCode } from '#sdk'
import { type Fields, fieldsOf, idOf, isFields, numberOf, textOf } from './fields.ts'

export interface FaultFacts {
  /** Telegram's error code; absent where no answer came. */
  readonly code?: number
  readonly retryAfterMs?: number
  /** The group has become a supergroup with this id. */
  readonly movedTo?: string
  /** The call has certainly not been carried out. */
  readonly unsent: boolean
}

/** A failed call. Its message is Telegram's own description, or what happened on the way; never the token. */
export class ApiFault extends Error {
  readonly facts: FaultFacts

  constructor(message: string, facts: FaultFacts) {
    super(message)
    this.name = 'ApiFault'
    this.facts = facts
  }

  /** Telegram has answered no, in words that match. */
  says(words: RegExp): boolean {
    return this.facts.code !== undefined && words.test(this.message)
  }
}

/** Everything a call can throw, as an `ApiFault`. The original is left behind, because it holds the token. */
export function faultOf(thrown: unknown, redact: (text: string) => string): ApiFault {
  if (thrown instanceof ApiFault) return thrown
  const answer = isFields(thrown) ? thrown['response'] : undefined
  if (isFields(answer) && 'error_code' in answer) return refusalOf(answer, redact)
  const reason = redact(reasonOf(thrown))
  return new ApiFault(`Telegram could not be reached: ${reason}`, { unsent: neverArrived(thrown) })
}

/** An answer that is not `{"ok": true}`. */
export function refusalOf(answer: Fields, redact: (text: string) => string): ApiFault {
  const code = numberOf(answer['error_code']) ?? 0
  const { retry_after, migrate_to_chat_id } = fieldsOf(answer['parameters'])
  const retryAfter = numberOf(retry_after)
  const movedTo = idOf(migrate_to_chat_id)
  return new ApiFault(redact(`Telegram answered ${code}: ${textOf(answer['description']) ?? 'no description'}`), {
    code,
    ...(retryAfter === undefined ? {} : { retryAfterMs: Math.max(0, retryAfter) * 1_000 }),
    ...(movedTo === undefined ? {} : { movedTo }),
    unsent: code >= 400 && code < 500,
  })
}

/** What the outbox should do next. */
export function resultOf({ message: error, facts }: ApiFault): Extract<SendResult, { success: false }> {
  const { code, retryAfterMs, unsent } = facts
  if (code === 401) return { success: false, problem: 'unauthorised', error }
  if (code === 429) {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
    return { success: false, problem: 'rate-limited', error, ...wait }
  }
  if (code !== undefined && code >= 400 && code < 500) return { success: false, problem: 'rejected', error }
  return { success: false, problem: 'temporary', error, ...(unsent ? {} : { maybeSent: true }) }
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
