/**
 * Where a message came from, and where an answer goes (contract §3.1, `SessionSource`).
 */
export type ChatType = 'dm' | 'group' | 'channel' | 'thread' | 'forum'

export interface SessionSource {
  /** The platform's name as its folder says it, for example `telegram`. */
  readonly platform: string
  /** One bot identity on that platform; `default` when only one is configured. */
  readonly account: string
  readonly chatId: string
  readonly chatType: ChatType
  readonly chatName?: string
  readonly userId?: string
  readonly userName?: string
  readonly threadId?: string
  readonly chatTopic?: string
  /** A second, more stable id of the user where the platform has one; it wins in session keys. */
  readonly userIdAlt?: string
  readonly chatIdAlt?: string
  readonly isBot?: boolean
  /** Guild or workspace. */
  readonly scopeId?: string
  readonly parentChatId?: string
  readonly messageId?: string
  /** The adapter has checked that the user holds a role that may use the bot. */
  readonly roleAuthorized?: boolean
  readonly profile?: string
  /** The thread that will be opened for this message: the session is keyed on it already. */
  readonly prospectiveThreadId?: string
}

/** Stands where others have their platform, for what the gateway does by itself. No platform may be called so. */
export const backgroundPlatform = 'background'

/** The address of an answer. */
export interface Target {
  readonly platform: string
  readonly account: string
  readonly chatId: string
  readonly threadId?: string
}

export function targetOf(source: SessionSource): Target {
  const threadId = source.threadId ?? source.prospectiveThreadId
  return {
    platform: source.platform,
    account: source.account,
    chatId: source.chatId,
    ...(threadId === undefined ? {} : { threadId }),
  }
}
