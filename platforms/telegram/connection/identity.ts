/**
 * Who the bot is, as `getMe` tells.
 */
import { HermesError, messageOf } from '#sdk'
import { ApiError } from '../errors.ts'
import { asRecord, asText } from '../inbound/payload.ts'
import type { BotApi } from './api.ts'

export interface BotIdentity {
  /** Without the @; '' where Telegram does not say. */
  readonly username: string
  /** Privacy mode is off. */
  readonly readsAllGroupMessages: boolean
  readonly canJoinGroups: boolean
}

/** Throws `platform/unauthorised` for a wrong token, `platform/connect-failed` for anything else. */
export async function fetchIdentity(api: BotApi, signal: AbortSignal): Promise<BotIdentity> {
  try {
    const me = asRecord(await api.call('getMe', {}, signal))
    return {
      username: asText(me['username']) ?? '',
      readsAllGroupMessages: me['can_read_all_group_messages'] === true,
      canJoinGroups: me['can_join_groups'] !== false,
    }
  } catch (error) {
    throw toConnectError(error)
  }
}

/** Telegram answers 404 to a token that is none at all. */
export function toConnectError(error: unknown): HermesError {
  const code = error instanceof ApiError ? error.details.code : undefined
  const cause = { cause: error }
  if (code === 401 || code === 404) return new HermesError('platform/unauthorised', messageOf(error), cause)
  return new HermesError('platform/connect-failed', messageOf(error), cause)
}
