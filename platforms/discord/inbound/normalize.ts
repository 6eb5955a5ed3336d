/**
 * Converts payloads of Discord's gateway to events: messages, edits, deletions, reactions. Pure. Never throws; a payload
 * that does not have the documented form yields no event.
 */
import {
  brand,
  type EventKey,
  type MessageChange,
  type MessageEvent,
  type MessageType,
  parseCommand,
  type ReadCursor,
  type SessionSource,
} from '#sdk'
import type { DiscordOptions } from '../options.ts'
import { type BotIdentity, isAddressedToBot, isChannelAllowed, opensThread, startsConversation } from './addressing.ts'
import {
  attachmentsOf,
  isBotMessage,
  isForward,
  messageText,
  type NameResolver,
  nameOf,
  quotedAttachmentsOf,
  quoteOf,
  replyType,
} from './content.ts'
import type { GuildCache } from './guild-cache.ts'
import {
  type Dispatch,
  idAt,
  idsAt,
  type JsonRecord,
  nonEmptyTextAt,
  numberAt,
  recordAt,
  recordsAt,
  textAt,
} from './payload.ts'
import { snowflakeToTime } from './snowflake.ts'
import { type ChannelContext, channelContextOf } from './source.ts'

/** The state that the meaning of a payload depends on. */
export interface NormalizeContext {
  readonly platform: string
  readonly account: string
  readonly options: DiscordOptions
  readonly guildCache: Pick<GuildCache, 'botUser' | 'channel' | 'roleName' | 'isOwnRole'>
  /** The session of Discord's gateway. Events without an id get a key of the session and their sequence number. */
  readonly sessionId: string
  /** Timestamp of events for which Discord gives none, ms since 1970. */
  readonly now: number
}

export type InboundEvent =
  | {
      readonly kind: 'message'
      readonly event: MessageEvent
      readonly keys: readonly [EventKey]
      readonly mark: ReadCursor
      /** Messages that the agent has not read may precede it. */
      readonly mayNeedContext?: true
    }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: readonly [EventKey] }

/** Discord's types of messages from users: plain, reply, and the two for commands. */
const userMessageTypes: readonly number[] = [0, 19, 20, 23]

export function normalize(event: Dispatch, view: NormalizeContext): readonly InboundEvent[] {
  switch (event.t) {
    case 'MESSAGE_CREATE':
      return normalizeMessage(event.d, view)
    case 'MESSAGE_UPDATE':
      return normalizeEdit(event.d, view)
    case 'MESSAGE_DELETE':
      return normalizeDeletion(event.d, [idAt(event.d, 'id') ?? ''], view)
    case 'MESSAGE_DELETE_BULK':
      return normalizeDeletion(event.d, idsAt(event.d, 'ids'), view)
    case 'MESSAGE_REACTION_ADD':
    case 'MESSAGE_REACTION_REMOVE':
      return normalizeReaction(event, view)
    default:
      return []
  }
}

export function messageKey(id: string): EventKey {
  return brand<EventKey>(`dc:${id}`)
}

/** The source of an event that a user caused in a channel. */
export function sourceOf(
  channel: ChannelContext,
  user: JsonRecord | undefined,
  member: JsonRecord | undefined,
  view: NormalizeContext,
): SessionSource {
  const userId = idAt(user, 'id')
  const userName = nameOf(user, member)
  const roles = idsAt(member, 'roles')
  return {
    platform: view.platform,
    account: view.account,
    ...channel.source,
    ...(channel.kind === 'dm' && userName !== undefined ? { chatName: userName } : {}),
    userId,
    userName,
    ...(view.options.allowedRoles.some((role) => roles.includes(role)) ? { roleAuthorized: true } : {}),
  }
}

function normalizeMessage(message: JsonRecord, view: NormalizeContext): readonly InboundEvent[] {
  const content = parseMessage(message, view)
  if (content === undefined || !isAddressedToBot(message, content.channel, content.bot, view.options)) return []
  const event = toMessageEvent(message, content, view)
  // A bare mention in a reply refers to the quoted message; a bare mention alone has no content.
  const isEmpty = event.text === '' && event.attachments === undefined && !event.replyTo?.text
  if (isEmpty) return []
  const mark = { place: content.channel.channelId, id: content.id }
  const isFirst =
    startsConversation(message, content.channel, content.bot, view.options) && event.messageType !== 'command'
  return [
    { kind: 'message', event, keys: [messageKey(content.id)], mark, ...(isFirst ? { mayNeedContext: true } : {}) },
  ]
}

/** Does not check whether the message is addressed to the bot, because an edit may remove the mention. The gateway ignores edits of unknown messages. */
function normalizeEdit(message: JsonRecord, view: NormalizeContext): readonly InboundEvent[] {
  const content = parseMessage(message, view)
  // Without this field Discord itself changed the message: it added a link preview or a thread.
  const at = nonEmptyTextAt(message, 'edited_timestamp')
  if (content === undefined || at === undefined || !isChannelAllowed(content.channel, view.options)) return []
  const event = toMessageEvent(message, content, view)
  const of = messageKey(content.id)
  return [{ kind: 'change', change: { kind: 'edited', of, event }, keys: [brand<EventKey>(`${of}:e:${at}`)] }]
}

function normalizeDeletion(data: JsonRecord, ids: readonly string[], view: NormalizeContext): readonly InboundEvent[] {
  const channel = channelContextOf(data, view.guildCache.channel(idAt(data, 'channel_id') ?? ''))
  if (channel === undefined || !isChannelAllowed(channel, view.options)) return []
  return ids
    .filter((id) => id !== '')
    .map((id) => {
      const of = messageKey(id)
      const source = { ...sourceOf(channel, undefined, undefined, view), messageId: id }
      const change = { kind: 'deleted' as const, of, source, timestamp: view.now }
      return { kind: 'change', change, keys: [brand<EventKey>(`${of}:d`)] }
    })
}

function normalizeReaction({ t, s, d }: Dispatch, view: NormalizeContext): readonly InboundEvent[] {
  const channel = channelContextOf(d, view.guildCache.channel(idAt(d, 'channel_id') ?? ''))
  const messageId = idAt(d, 'message_id')
  const userId = idAt(d, 'user_id')
  const emoji = recordAt(d, 'emoji')
  const reaction = nonEmptyTextAt(emoji, 'name') ?? idAt(emoji, 'id')
  const me = view.guildCache.botUser()
  if (channel === undefined || messageId === undefined || userId === undefined || reaction === undefined) return []
  if (me === undefined || userId === me.id || !isChannelAllowed(channel, view.options)) return []
  const member = recordAt(d, 'member')
  const user = recordAt(member, 'user') ?? { id: userId }
  if (idAt(user, 'id') !== userId || user['bot'] === true) return []
  const author = idAt(d, 'message_author_id')
  const change: MessageChange = {
    kind: 'reaction',
    source: { ...sourceOf(channel, user, member, view), messageId },
    added: t === 'MESSAGE_REACTION_ADD',
    reaction,
    messageId,
    itemUserId: author,
    timestamp: view.now,
    raw: d,
  }
  return [{ kind: 'change', change, keys: [brand<EventKey>(`${messageKey(messageId)}:r:${view.sessionId}:${s}`)] }]
}

interface ParsedMessage {
  readonly id: string
  readonly channel: ChannelContext
  readonly bot: BotIdentity
}

/** Undefined for the bot's own messages and for system messages of Discord. */
function parseMessage(message: JsonRecord, { guildCache }: NormalizeContext): ParsedMessage | undefined {
  const self = guildCache.botUser()
  const id = idAt(message, 'id')
  const authorId = idAt(recordAt(message, 'author'), 'id')
  if (self === undefined || id === undefined || authorId === undefined || authorId === self.id) return undefined
  if (!userMessageTypes.includes(numberAt(message, 'type') ?? 0)) return undefined
  const channel = channelContextOf(message, guildCache.channel(idAt(message, 'channel_id') ?? ''))
  return channel && { id, channel, bot: { id: self.id, isOwnRole: guildCache.isOwnRole } }
}

function toMessageEvent(
  message: JsonRecord,
  { id, channel, bot }: ParsedMessage,
  view: NormalizeContext,
): MessageEvent {
  const names = nameResolverOf(view)
  const text = messageText(message, names)
  const attached = attachmentsOf(message)
  const attachments = [...attached, ...quotedAttachmentsOf(message)]
  const isCommand = parseCommand({ text }) !== null
  const replyTo = replyOf(message, names)
  return {
    source: {
      ...sourceOf(channel, recordAt(message, 'author'), recordAt(message, 'member'), view),
      ...(isBotMessage(message) ? { isBot: true } : {}),
      ...(opensThread(message, channel, bot, view.options, isCommand) ? { prospectiveThreadId: id } : {}),
      messageId: id,
    },
    text,
    messageType: isCommand ? 'command' : toMessageType(attached[0]?.kind),
    messageId: id,
    timestamp: timestampOf(message, id),
    ...(attachments.length === 0 ? {} : { attachments }),
    replyTo,
  }
}

export function nameResolverOf({ guildCache }: NormalizeContext): NameResolver {
  return {
    botId: guildCache.botUser()?.id,
    channelName: (id) => guildCache.channel(id)?.name,
    roleName: guildCache.roleName,
    isOwnRole: guildCache.isOwnRole,
  }
}

function toMessageType(kind: MessageType | undefined): MessageType {
  return kind ?? 'text'
}

function timestampOf(message: JsonRecord, id: string): number {
  const written = Date.parse(textAt(message, 'timestamp') ?? '')
  return Number.isNaN(written) ? snowflakeToTime(id) : written
}

/** The message that this one replies to. Its text is missing when it was deleted. */
function replyOf(message: JsonRecord, names: NameResolver): MessageEvent['replyTo'] {
  if (numberAt(message, 'type') !== replyType || isForward(message)) return undefined
  const messageId = idAt(recordAt(message, 'message_reference'), 'message_id')
  if (messageId === undefined) return undefined
  const quoted = recordAt(message, 'referenced_message')
  if (quoted === undefined) return { messageId }
  const author = recordAt(quoted, 'author')
  const authorId = idAt(author, 'id')
  // A mention carries the member of the server; the author of a quoted message does not.
  const mention = recordsAt(message, 'mentions').find((user) => idAt(user, 'id') === authorId)
  const authorName = nameOf(author, recordAt(mention, 'member'))
  return {
    messageId,
    text: quoteOf(quoted, names),
    authorId,
    authorName,
    ...(authorId === names.botId ? { isOwnMessage: true } : {}),
  }
}
