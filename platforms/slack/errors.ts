/**
 * What a call that failed means for whoever made it. Pure: whatever was thrown in, a failure in plain words out.
 *
 * Slack answers with a word (`channel_not_found`), a status (5xx), "too many" (429) or not at all; the SDK throws a class
 * for each, told apart by its `code`.
 */
import { isConnectError, messageOf, type SendFailureKind } from '#sdk'
import { asRecord, type JsonRecord, numberAt, recordAt, textAt } from './inbound/payload.ts'

export interface CallFailure {
  readonly problem: SendFailureKind
  /** In plain words, with Slack's own word at the end. */
  readonly error: string
  /** Slack's word; absent where Slack did not say any. */
  readonly code?: string
  /** Only with `rate-limited`. */
  readonly retryAfterMs?: number
  /** Only with `rate-limited`. */
  readonly scope?: 'chat'
  /** Slack may have done what it was asked. */
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
        error: `Slack answered with the status ${numberAt(error, 'statusCode') ?? 'unknown'}`,
        maybeSent: true,
      }
    default:
      return fromNetworkError(thrown, method)
  }
}

/** What Slack says with `ok: false`. */
function fromErrorResponse(data: JsonRecord, method: string): CallFailure {
  const code = textAt(data, 'error') ?? ''
  if (!/^[a-z0-9_]{1,60}$/.test(code)) {
    // A proxy or a captive portal, for example.
    return { problem: 'temporary', error: 'what answered was not Slack', maybeSent: true }
  }
  if (code === 'ratelimited' || code === 'rate_limited') {
    return { ...rateLimited(method, numberAt(recordAt(data, 'response_metadata'), 'retryAfter')), code }
  }
  const needed = textAt(data, 'needed')
  const advice =
    code === 'missing_scope' && needed !== undefined ? `the app lacks the scope ${needed}` : errorDescriptions[code]
  const error = advice === undefined ? `Slack refused ${method}: ${code}` : `${advice} (${code})`
  if (isUnauthorised(code, method)) return { problem: 'unauthorised', error, code }
  // As documented, some of it may have been done before the error.
  if (serverErrors.has(code)) return { problem: 'temporary', error, code, maybeSent: true }
  return { problem: 'rejected', error, code }
}

/** A method that is not for bots says of the token what else is said of a wrong one. */
function isUnauthorised(code: string, method: string): boolean {
  return unauthorisedErrors.has(code) || (code === 'not_allowed_token_type' && methodsOfEveryBot.has(method))
}

function rateLimited(method: string, retryAfter: number | undefined): CallFailure {
  return {
    problem: 'rate-limited',
    error: `Slack limits the rate of ${method}`,
    ...(retryAfter === undefined ? {} : { retryAfterMs: retryAfter * 1_000 }),
    // Posts are counted by channel, everything else by method: web.ts holds the method back for every chat, and the
    // others may go on with what is not limited.
    scope: 'chat',
  }
}

/** No answer came. Where no connection was made, nothing was asked either. */
function fromNetworkError(thrown: unknown, method: string): CallFailure {
  const reason = messageOf(thrown)
  if (reason.includes('Retry header')) return rateLimited(method, undefined)
  const codes = systemCodesIn(thrown)
  const never = isConnectError(thrown)
  const detail = codes.length > 0 ? codes.join(', ') : reason.replace(/^A request error occurred: /, '')
  const error = never ? `Slack could not be reached (${detail})` : `Slack did not answer ${method} (${detail})`
  return { problem: 'temporary', error, ...(never ? {} : { maybeSent: true }) }
}

/** The system's words, wherever in the chain of causes they stand. */
function systemCodesIn(thrown: unknown, depth = 0): string[] {
  if (!(thrown instanceof Error) || depth > 5) return []
  const original = 'original' in thrown ? thrown.original : undefined
  const several = 'errors' in thrown && Array.isArray(thrown.errors) ? thrown.errors : []
  const own = 'code' in thrown && typeof thrown.code === 'string' && /^[A-Z_]+$/.test(thrown.code) ? [thrown.code] : []
  const below = [thrown.cause ?? original, ...several].flatMap((one) => systemCodesIn(one, depth + 1))
  return [...new Set([...own, ...below])]
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
  not_authed: 'no token was sent',
  invalid_auth: 'Slack does not know the token',
  account_inactive: 'the app was removed from the workspace, or its token belongs to a deleted user',
  token_revoked: 'the token was revoked: install the app anew and set the new one',
  token_expired: 'the token has expired: install the app anew and set the new one',
  not_allowed_token_type: 'this is a token of another kind: bot_token begins with xoxb-, app_token with xapp-',
  channel_not_found: 'Slack does not know this channel, or the bot may not see it: invite it with /invite',
  not_in_channel: 'the bot is no member of the channel: invite it with /invite',
  is_archived: 'the channel is archived',
  msg_too_long: 'the message is too long for Slack',
  no_text: 'the message has no text',
  message_not_found: 'the message is gone',
  cant_update_message: 'this message cannot be edited',
  cant_delete_message: 'this message cannot be deleted',
  edit_window_closed: 'the workspace allows no more edits of this message',
  thread_not_found: 'the thread is gone',
  restricted_action: 'the workspace does not let the app post here',
  restricted_action_read_only_channel: 'the channel is read-only',
  restricted_action_thread_only_channel: 'the channel takes messages in threads only',
  messages_tab_disabled: 'the Messages tab of the app is switched off: App Home → Show Tabs',
  file_upload_size_restricted: 'the file is larger than Slack takes',
  invalid_blocks: 'Slack could not read the blocks of the message',
}
