/**
 * Creates the source, the keys and the cursor of a message.
 *
 * A channel message that is answered in a thread has its own `ts` as its thread id, so that follow-ups in the thread belong
 * to the same session.
 */
import { brand, type EventKey, type ReadCursor, type SessionSource } from '#sdk'
import type { MessageRules } from '../options.ts'

/** The workspace and the bot user, from `auth.test`. */
export interface WorkspaceIdentity {
  readonly teamId: string
  readonly teamName: string
  readonly botUserId: string
  readonly botName?: string | undefined
  readonly botId: string | undefined
}

export interface SourceContext {
  readonly platform: string
  readonly account: string
  readonly identity: WorkspaceIdentity
  readonly rules: Pick<MessageRules, 'replyInThread'>
}

export interface MessageLocation {
  readonly channel: string
  /** `im`, `mpim`, `channel` or `group`; absent in some events. */
  readonly channelType?: string | undefined
  /** The `ts` of the message. */
  readonly ts?: string | undefined
  /** The `ts` of the first message of its thread. */
  readonly threadTs?: string | undefined
}

export interface MessageAuthor {
  readonly userId?: string | undefined
  readonly userName?: string | undefined
  readonly isBot?: boolean
}

export function isDirectMessage({ channel, channelType }: Pick<MessageLocation, 'channel' | 'channelType'>): boolean {
  return channelType === 'im' || channel.startsWith('D')
}

export function sourceOf(location: MessageLocation, author: MessageAuthor, context: SourceContext): SessionSource {
  const threadId = threadIdOf(location, context.rules)
  return {
    platform: context.platform,
    account: context.account,
    chatId: location.channel,
    chatType: isDirectMessage(location) ? 'dm' : 'group',
    scopeId: context.identity.teamId,
    userId: author.userId,
    userName: author.userName,
    ...(author.isBot === true ? { isBot: true } : {}),
    threadId,
  }
}

function threadIdOf(
  location: MessageLocation,
  { replyInThread }: Pick<MessageRules, 'replyInThread'>,
): string | undefined {
  const { ts, threadTs } = location
  if (threadTs !== undefined && threadTs !== ts) return threadTs
  // A message outside a thread starts one if replies go to threads.
  return replyInThread && !isDirectMessage(location) ? ts : undefined
}

/** The key of a message. It contains the account, because two accounts may be in the same channel. */
export function messageKey(channel: string, ts: string, { account, identity }: SourceContext): EventKey {
  const suffix = account === 'default' ? '' : `@${account}`
  return brand<EventKey>(`sl:${identity.teamId}:${channel}:${ts}${suffix}`)
}

/** The key of a change of a message. */
export function changeKey(of: EventKey, what: 'e' | 'd' | 'r', detail: string): EventKey {
  return brand<EventKey>(`${of}:${what}:${detail}`)
}

/** The cursor of a channel or a thread. */
export function cursorOf({ chatId, threadId }: SessionSource, ts: string): ReadCursor {
  return { place: threadId === undefined ? chatId : `${chatId}:${threadId}`, id: toSortableTs(ts) }
}

/** Cursors are compared as strings. */
function toSortableTs(ts: string): string {
  const [seconds = '', micros = ''] = ts.split('.')
  return `${seconds.padStart(10, '0')}.${micros.padEnd(6, '0')}`
}
