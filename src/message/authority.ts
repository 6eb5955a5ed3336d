/**
 * The authority of a turn: the person who caused it, and what that person may cause. It is decided when a message is accepted, is
 * stored with the message, and stays the same for everything that the message causes: resumed turns, background tasks,
 * scheduled turns and sub-agents.
 */
import { type ChatType, commandLinePlatform } from './source.ts'

/** `owner`: everything. `member`: a known person. `guest`: a person who is let in without being listed by id. */
export type Role = 'owner' | 'member' | 'guest'

export interface Authority {
  readonly role: Role
  /** The platform on which the person wrote, also for a background task. `plugin` for a plugin outside of turns. */
  readonly platform: string
  /** The chat in which the person wrote. */
  readonly chatType: ChatType
  /** Absent for a message that names no user. */
  readonly userId?: string | undefined
  /** The bot identity that received the message. */
  readonly account?: string | undefined
  readonly chatId?: string | undefined
  /** The channel of a thread. */
  readonly parentChatId?: string | undefined
  /** What else may have let the person in, so that the access can be checked again. */
  readonly isBot?: boolean | undefined
  readonly roleAuthorized?: boolean | undefined
  readonly userIdAlt?: string | undefined
}

/** The person who holds the token of the gateway, or its home on this machine. */
export const tokenAuthority: Authority = { role: 'owner', platform: commandLinePlatform, chatType: 'dm' }

/** Whether two messages have the same author with the same rights. A message that names no user has no known author. */
export function isSameAuthority(a: Authority, b: Authority): boolean {
  return (
    a.userId !== undefined &&
    a.userId === b.userId &&
    a.role === b.role &&
    a.platform === b.platform &&
    a.account === b.account &&
    a.chatType === b.chatType &&
    a.chatId === b.chatId
  )
}
