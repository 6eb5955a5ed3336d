/**
 * Which sessions a person may see from where the person writes: in a direct message all direct messages with this bot, in a
 * group only those of the group.
 */
import type { CommandContext } from '../../commands/command.ts'
import type { SessionScope } from '../../store/sqlite/visible-sessions.ts'

/** In a group others read the answer, and may have caused the command by what they wrote. */
export function sessionScopeOf({
  sessionKey,
  source,
  authority,
}: Pick<CommandContext, 'sessionKey' | 'source' | 'authority'>): SessionScope {
  const { platform, account = source.account, chatType, userId } = authority
  const isDirect = chatType === 'dm' && userId !== undefined && userId !== ''
  return { sessionKey, ...(isDirect && { direct: { platform, account, userId } }) }
}
