/**
 * What errors of Discord mean: the result for the outbox, and a sentence that says what to change.
 */
import { DiscordAPIError, DiscordjsErrorCodes, HTTPError, RateLimitError } from 'discord.js'
import { HermesError, isConnectError, messageOf, type SendResult, systemCode } from '#sdk'

type SendFailure = Extract<SendResult, { success: false }>

/** Discord's error codes for which a user can do something. */
const errorDescriptions: Readonly<Record<number, string>> = {
  10003: 'the channel or thread does not exist or was deleted',
  10008: 'the message does not exist or was deleted',
  10015: 'the webhook does not exist or was deleted',
  20016: 'the channel is in slow mode',
  30046: 'the message is too old to be edited so often',
  40005: 'the file is larger than this server allows',
  50001: 'the bot cannot see the channel: grant it View Channel there',
  50005: 'the message was written by another user',
  50006: 'the message is empty',
  50007: 'the user takes no direct messages from the bot: they must share a server and allow direct messages there',
  50008: 'this kind of channel does not accept messages',
  50013:
    'the bot lacks a permission in this channel: Send Messages, Send Messages in Threads, Attach Files or Embed Links',
  50035: 'Discord does not accept the message in this form',
  50083: 'the thread is archived',
  160002: 'the bot lacks the permission Read Message History, which replies require',
  160005: 'the thread is locked',
  200000: 'the message was blocked by the rules of the server (AutoMod)',
  240000: 'the message was blocked because of a link in it',
}

/** Rate limits that Discord reports as rejections. */
const rateLimitCodes: ReadonlySet<unknown> = new Set([20016, 20022, 20028, 30046, 40062])
/** The whole channel or direct chat takes no message of the bot. */
const chatGoneCodes: ReadonlySet<unknown> = new Set([10003, 50001, 50007])
const defaultRetryMs = 5_000

/** The code of Discord's error; undefined for anything else. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof DiscordAPIError && typeof error.code === 'number' ? error.code : undefined
}

/** Whether Discord processed the call and will not accept a repetition. */
export function isRejected(error: unknown): boolean {
  return error instanceof DiscordAPIError && error.status !== 401 && error.status !== 429
}

export function retryAfterMs(error: unknown): number | undefined {
  return error instanceof RateLimitError ? Math.max(1, Math.ceil(error.retryAfter)) : undefined
}

export function isUnauthorised(error: unknown): boolean {
  if (error instanceof DiscordAPIError) return error.status === 401
  if (!(error instanceof Error)) return false
  // After the first refusal `REST` removes the token, and then rejects requests itself.
  return systemCode(error) === DiscordjsErrorCodes.TokenInvalid || error.message.startsWith('Expected token to be set')
}

/**
 * Maps the error of a call to a result for the outbox. `creates`: the call may have created a message although it failed. Never throws.
 */
export function toSendResult(error: unknown, creates: boolean): SendFailure {
  const failure = (problem: SendFailure['problem'], more: Partial<SendFailure> = {}): SendFailure => {
    return { success: false, problem, error: describeError(error), ...more }
  }
  if (error instanceof RateLimitError) {
    const scope = error.global || error.scope === 'global' ? 'account' : 'chat'
    return failure('rate-limited', { retryAfterMs: retryAfterMs(error) ?? defaultRetryMs, scope })
  }
  if (isUnauthorised(error)) return failure('unauthorised')
  if (error instanceof DiscordAPIError) {
    if (rateLimitCodes.has(error.code)) return failure('rate-limited', { retryAfterMs: defaultRetryMs, scope: 'chat' })
    if (chatGoneCodes.has(error.code)) return failure('rejected', { chatGone: true })
    return failure(error.status === 408 ? 'temporary' : 'rejected')
  }
  if (error instanceof HTTPError && error.status < 500) return failure('rejected')
  return failure('temporary', creates && !isConnectError(error) ? { maybeSent: true } : {})
}

/** One sentence for users. Never contains a token. */
export function describeError(error: unknown): string {
  if (error instanceof RateLimitError) return 'Discord limits how often the bot may do this'
  if (isUnauthorised(error)) return 'Discord does not accept the token of the bot'
  if (error instanceof DiscordAPIError) {
    const known = typeof error.code === 'number' ? errorDescriptions[error.code] : undefined
    const detail = `${error.message.replaceAll('\n', '; ')} (${error.code})`
    return known === undefined ? `Discord refused: ${detail}` : `${known}. Discord says: ${detail}`
  }
  if (error instanceof HTTPError) return `Discord answered ${error.status}`
  const cause = error instanceof Error ? error.cause : undefined
  const code = systemCode(error) ?? systemCode(cause)
  return `Discord could not be reached: ${code ?? messageOf(error)}`
}

/** For `connect`. The error code says whether another attempt can succeed. */
export function toConnectError(error: unknown): HermesError {
  if (error instanceof HermesError) return error
  // discord.js reads fields of an answer that Discord did not give. (`fetch` also throws a TypeError, with a cause.)
  if (error instanceof TypeError && error.cause === undefined) {
    const detail = 'The address of the gateway is missing: is api_url right?'
    return new HermesError('platform/connect-failed', detail, { cause: error })
  }
  const code = isUnauthorised(error) ? 'platform/unauthorised' : 'platform/connect-failed'
  return new HermesError(code, `${describeError(error)}.`, { cause: error })
}

const authenticationFailed = 4004

/** Close codes after which discord.js does not reconnect, and what to do. */
const fatalCloseCodes: Readonly<Record<number, string>> = {
  4010: 'Discord does not accept the shard of this connection (4010).',
  4011: 'The bot is on more servers than one connection may serve (4011); hermes-gateway opens one. Use several bots.',
  4012: 'Discord no longer supports this version of its gateway (4012). Update hermes-gateway.',
  4013: 'Discord does not know the intents of this connection (4013). Update hermes-gateway.',
  4014:
    'Discord does not let the bot read messages (4014): turn on Message Content Intent in the Developer Portal ' +
    '(your application → Bot → Privileged Gateway Intents), then restart the gateway.',
}

/** For a close code after which discord.js does not reconnect. */
export function toCloseError(code: number): HermesError {
  if (code === authenticationFailed) {
    return new HermesError('platform/unauthorised', 'Discord does not accept the token of the bot (4004).')
  }
  return new HermesError('platform/refused', fatalCloseCodes[code] ?? `Discord refused the connection (${code}).`)
}

/** For a close code after which discord.js reconnects. */
export function describeCloseCode(code: number): string {
  if (code === 1006) return 'the connection to Discord was lost'
  if (code === 1000) return 'the session with Discord has ended'
  // discord.js closes with it when Discord asks it to reconnect, or does not acknowledge a heartbeat.
  if (code === 4200) return 'the connection to Discord is being renewed'
  return `Discord closed the connection (${code})`
}
