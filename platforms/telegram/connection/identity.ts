/**
 * Reads the bot's own account with `getMe`.
 */
import { toConnectError } from '../errors.ts'
import { asRecord, asText } from '../inbound/payload.ts'
import type { BotApi } from './api.ts'

export interface BotIdentity {
  /** Without the @; '' when Telegram sends none. */
  readonly username: string
  /** Privacy mode is off. */
  readonly readsAllGroupMessages: boolean
  readonly canJoinGroups: boolean
}

/** Throws `platform/unauthorised` for an invalid token, otherwise `platform/connect-failed`. */
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
