/**
 * Where a message stands: the source of an event, its keys, and the place it marks as read.
 *
 * A channel message that is answered in a thread has its own `ts` as its thread from the start, so that what follows in
 * the thread belongs to the same session.
 */
import { brand, type EventKey, type ReadCursor, type SessionSource } from '#sdk'
import type { MessageRules } from '../options.ts'

/** Who we are in the workspace, as `auth.test` says. */
export interface WorkspaceIdentity {
  readonly teamId: string
  readonly teamName: string
  readonly botUserId: string
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
  /** `im`, `mpim`, `channel`, `group`; not in every event. */
  readonly channelType?: string | undefined
  /** The message's own `ts`, where there is one. */
  readonly ts?: string | undefined
  /** The first message of the thread it stands in. */
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

export function sourceOf(place: MessageLocation, author: MessageAuthor, view: SourceContext): SessionSource {
  const threadId = threadIdOf(place, view.rules)
  return {
    platform: view.platform,
    account: view.account,
    chatId: place.channel,
    chatType: isDirectMessage(place) ? 'dm' : 'group',
    scopeId: view.identity.teamId,
    ...(author.userId === undefined ? {} : { userId: author.userId }),
    ...(author.userName === undefined ? {} : { userName: author.userName }),
    ...(author.isBot === true ? { isBot: true } : {}),
    ...(threadId === undefined ? {} : { threadId }),
  }
}

function threadIdOf(
  place: MessageLocation,
  { replyInThread }: Pick<MessageRules, 'replyInThread'>,
): string | undefined {
  const { ts, threadTs } = place
  if (threadTs !== undefined && threadTs !== ts) return threadTs
  // The first message of a thread stands in the channel.
  return replyInThread && !isDirectMessage(place) ? ts : undefined
}

/** The name of a message. A second account may sit in the same channel, and each of them answers for itself. */
export function messageKey(channel: string, ts: string, { account, identity }: SourceContext): EventKey {
  const suffix = account === 'default' ? '' : `@${account}`
  return brand<EventKey>(`sl:${identity.teamId}:${channel}:${ts}${suffix}`)
}

/** The name of what happened to a message. */
export function changeKey(of: EventKey, what: 'e' | 'd' | 'r', detail: string): EventKey {
  return brand<EventKey>(`${of}:${what}:${detail}`)
}

/** A place of the reading marks: a channel, or a thread of it. */
export function readMarkOf({ chatId, threadId }: SessionSource, ts: string): ReadCursor {
  return { place: threadId === undefined ? chatId : `${chatId}:${threadId}`, id: toSortableTs(ts) }
}

/** Marks are compared as texts. */
function toSortableTs(ts: string): string {
  const [seconds = '', micros = ''] = ts.split('.')
  return `${seconds.padStart(10, '0')}.${micros.padEnd(6, '0')}`
}
