/**
 * Maps errors of the SDK to failures, send results and connect errors. Pure.
 *
 * Slack responds with an error code (`channel_not_found`), a status (5xx), a rate limit (429) or not at all. The SDK throws
 * an error with its own `code` for each of these cases.
 */
import { HermesError, isConnectError, messageOf, type SendFailureKind, type SendResult } from '#sdk'
import { asRecord, type JsonRecord, numberAt, recordAt, textAt } from './inbound/payload.ts'

export interface CallFailure {
  readonly problem: SendFailureKind
  /** A description that ends with Slack's error code. */
  readonly error: string
  /** Slack's error code, if there was one. */
  readonly code?: string
  /** Only with `rate-limited`. */
  readonly retryAfterMs?: number | undefined
  /** Only with `rate-limited`. */
  readonly scope?: 'chat'
  /** Slack may have executed the call. */
  readonly maybeSent?: boolean
}

export function toCallFailure(thrown: unknown, method: string): CallFailure {
  const error = asRecord(thrown)
  switch (textAt(error, 'code')) {
    case 'slack_webapi_platform_error':
      return fromErrorResponse(recordAt(error, 'data'), method)
    case 'slack_webapi_rate_limited_error':
      return rateLimited(method, numberAt(error, 'retryAfter'))
    case 'slack_webapi_http_error':
      return {
        problem: 'temporary',
        error: `Slack responded with status ${numberAt(error, 'statusCode') ?? 'unknown'}`,
        maybeSent: true,
      }
    default:
      return fromNetworkError(thrown, method)
  }
}

/** Tells the outbox how to continue after a failed call. */
export function toSendResult({ problem, error, code, retryAfterMs, scope, maybeSent }: CallFailure): SendResult {
  return {
    success: false,
    problem,
    error,
    retryAfterMs,
    scope,
    maybeSent,
    ...(chatGoneErrors.has(code ?? '') ? { chatGone: true } : {}),
  }
}

/** The channel or direct chat takes no message of the bot. */
const chatGoneErrors: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'user_disabled',
  'user_not_found',
  'cannot_dm_bot',
])

/** Maps a failure while connecting. The error code says whether a retry can help. */
export function toConnectError({ problem, error }: CallFailure, key: 'bot_token' | 'app_token'): HermesError {
  if (problem === 'unauthorised') return new HermesError('platform/unauthorised', `${key}: ${error}.`)
  return new HermesError(problem === 'rejected' ? 'platform/refused' : 'platform/connect-failed', `${key}: ${error}.`)
}

/** Parses a response with `ok: false`. */
function fromErrorResponse(data: JsonRecord, method: string): CallFailure {
  const code = textAt(data, 'error') ?? ''
  if (!/^[a-z0-9_]{1,60}$/.test(code)) {
    // A proxy or a captive portal, for example.
    return { problem: 'temporary', error: 'the response is not from Slack', maybeSent: true }
  }
  if (code === 'ratelimited' || code === 'rate_limited') {
    return { ...rateLimited(method, numberAt(recordAt(data, 'response_metadata'), 'retryAfter')), code }
  }
  const needed = textAt(data, 'needed')
  const advice =
    code === 'missing_scope' && needed !== undefined ? `the app lacks the scope ${needed}` : errorDescriptions[code]
  const error = advice === undefined ? `Slack refused ${method}: ${code}` : `${advice} (${code})`
  if (isUnauthorised(code, method)) return { problem: 'unauthorised', error, code }
  // According to Slack's documentation the call may have been executed in part.
  if (serverErrors.has(code)) return { problem: 'temporary', error, code, maybeSent: true }
  return { problem: 'rejected', error, code }
}

/** A method that bots cannot use returns `not_allowed_token_type` for a valid token, too. */
function isUnauthorised(code: string, method: string): boolean {
  return unauthorisedErrors.has(code) || (code === 'not_allowed_token_type' && methodsOfEveryBot.has(method))
}

function rateLimited(method: string, retryAfter: number | undefined): CallFailure {
  return {
    problem: 'rate-limited',
    error: `Slack limits the rate of ${method}`,
    retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1_000,
    // Slack counts posts per channel and other calls per method. api.ts delays a limited method for all chats; methods
    // without a limit continue.
    scope: 'chat',
  }
}

/** There was no response. Without a connection the call was not sent. */
function fromNetworkError(thrown: unknown, method: string): CallFailure {
  const reason = messageOf(thrown)
  if (reason.includes('Retry header')) return rateLimited(method, undefined)
  const codes = systemCodesIn(thrown)
  const wasSent = !isConnectError(thrown)
  const detail = codes.length > 0 ? codes.join(', ') : reason.replace(/^A request error occurred: /, '')
  const error = wasSent ? `Slack did not respond to ${method} (${detail})` : `Slack could not be reached (${detail})`
  return { problem: 'temporary', error, ...(wasSent ? { maybeSent: true } : {}) }
}

/** The system error codes in the chain of causes. */
function systemCodesIn(thrown: unknown, depth = 0): string[] {
  if (!(thrown instanceof Error) || depth > 5) return []
  const original = 'original' in thrown ? thrown.original : undefined
  const several = 'errors' in thrown && Array.isArray(thrown.errors) ? thrown.errors : []
  const codes =
    'code' in thrown && typeof thrown.code === 'string' && /^[A-Z_]+$/.test(thrown.code) ? [thrown.code] : []
  const below = [thrown.cause ?? original, ...several].flatMap((inner) => systemCodesIn(inner, depth + 1))
  return [...new Set([...codes, ...below])]
}

const unauthorisedErrors: ReadonlySet<string> = new Set([
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'org_login_required',
  'team_access_not_granted',
])

const methodsOfEveryBot: ReadonlySet<string> = new Set(['auth.test', 'apps.connections.open', 'chat.postMessage'])

const serverErrors: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
])

const errorDescriptions: Readonly<Record<string, string>> = {
  not_authed: 'the call had no token',
  invalid_auth: 'the token is invalid',
  account_inactive: 'the app was removed from the workspace, or its token belongs to a deleted user',
  token_revoked: 'the token was revoked: install the app again and set the new token',
  token_expired: 'the token has expired: install the app again and set the new token',
  not_allowed_token_type: 'the token has the wrong type: bot_token begins with xoxb-, app_token with xapp-',
  channel_not_found: 'the channel does not exist, or the bot is not a member: invite it with /invite',
  not_in_channel: 'the bot is not a member of the channel: invite it with /invite',
  is_archived: 'the channel is archived',
  msg_too_long: 'the message is too long for Slack',
  no_text: 'the message has no text',
  message_not_found: 'the message was deleted',
  cant_update_message: 'this message cannot be edited',
  cant_delete_message: 'this message cannot be deleted',
  edit_window_closed: 'the workspace no longer allows edits of this message',
  thread_not_found: 'the thread was deleted',
  restricted_action: 'the workspace does not allow the app to post here',
  restricted_action_read_only_channel: 'the channel is read-only',
  restricted_action_thread_only_channel: 'the channel accepts messages only in threads',
  messages_tab_disabled: 'the Messages tab of the app is disabled: App Home → Show Tabs',
  file_upload_size_restricted: 'the file is larger than Slack allows',
  invalid_blocks: 'Slack could not parse the blocks of the message',
}
