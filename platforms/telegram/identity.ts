/**
 * Who the bot is, as `getMe` tells.
 */
import { HermesError, messageOf } from '#sdk'
import type { BotApi } from './bot-api.ts'
import { ApiFault } from './fault.ts'
import { fieldsOf, textOf } from './fields.ts'

export interface Identity {
  /** Without the @; '' where Telegram does not say. */
  readonly username: string
  /** Privacy mode is off. */
  readonly seesEverything: boolean
  readonly joinsGroups: boolean
}

/** Throws `platform/unauthorised` for a wrong token, `platform/connect-failed` for anything else. */
export async function whoAmI(api: BotApi, signal: AbortSignal): Promise<Identity> {
  try {
    const me = fieldsOf(await api.call('getMe', {}, signal))
    return {
      username: textOf(me['username']) ?? '',
      seesEverything: me['can_read_all_group_messages'] === true,
      joinsGroups: me['can_join_groups'] !== false,
    }
  } catch (error) {
    throw connectError(error)
  }
}

/** Telegram answers 404 to a token that is none at all. */
export function connectError(error: unknown): HermesError {
  const code = error instanceof ApiFault ? error.facts.code : undefined
  const cause = { cause: error }
  if (code === 401 || code === 404) return new HermesError('platform/unauthorised', messageOf(error), cause)
  return new HermesError('platform/connect-failed', messageOf(error), cause)
}
