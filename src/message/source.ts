/**
 * The source of a message and the target of a reply (contract §3.1, `SessionSource`).
 */
export type ChatType = 'dm' | 'group' | 'channel' | 'thread' | 'forum'

export interface SessionSource {
  /** The name of the platform, which is the name of its directory: `telegram`. */
  readonly platform: string
  /** A bot identity on the platform; `default` when only one is configured. */
  readonly account: string
  readonly chatId: string
  readonly chatType: ChatType
  readonly chatName?: string | undefined
  readonly userId?: string | undefined
  readonly userName?: string | undefined
  readonly threadId?: string | undefined
  readonly chatTopic?: string | undefined
  /** A more stable id of the user, if the platform has one; preferred in session keys. */
  readonly userIdAlt?: string | undefined
  readonly chatIdAlt?: string | undefined
  readonly isBot?: boolean | undefined
  /** Guild or workspace. */
  readonly scopeId?: string | undefined
  readonly parentChatId?: string | undefined
  readonly messageId?: string | undefined
  /** The adapter has verified that a role of the user permits the use of the bot. */
  readonly roleAuthorized?: boolean | undefined
  readonly profile?: string | undefined
  /** The thread that will be created for this message; the session key already contains it. */
  readonly prospectiveThreadId?: string | undefined
}

/** The reserved platform name for work that the gateway starts itself. */
export const backgroundPlatform = 'background'

/** The reserved platform name of scheduled jobs. */
export const cronPlatform = 'cron'

/** The platform of the command line, whose conversations hooks and plugins tell from those of chats (seed 001). */
export const commandLinePlatform = 'cli'

/** Whether the gateway uses the name itself, for turns that no chat waits for. */
export function isReservedPlatform(name: string): boolean {
  return name === backgroundPlatform || name === cronPlatform
}

/** The address of a reply. */
export interface Target {
  readonly platform: string
  readonly account: string
  readonly chatId: string
  readonly threadId?: string | undefined
}

export function targetOf(source: SessionSource): Target {
  const threadId = source.threadId ?? source.prospectiveThreadId
  return {
    platform: source.platform,
    account: source.account,
    chatId: source.chatId,
    threadId,
  }
}
