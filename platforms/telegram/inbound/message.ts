/**
 * Reads a Telegram message: the chat, the author, the message it replies to, and its text. Everything that a plain text
 * message needs is here; `content.ts` reads the other kinds.
 */
import { type Attachment, type ChatType, isRecord, type MessageEvent, type SessionSource } from '#sdk'
import type { GroupRules } from '../options.ts'
import { type MessageContent, nonTextContentOf, oneLine } from './content.ts'
import { toMarkdown } from './markdown.ts'
import { asId, asNumber, asRecord, asRecords, asText, type JsonRecord } from './payload.ts'

/** Account data that is needed to read a payload. */
export interface NormalizeContext {
  readonly platform: string
  readonly account: string
  readonly botId: string
  /** Without the @. */
  readonly username: string
  readonly groups: GroupRules
}

type Author = Pick<SessionSource, 'userId' | 'userName' | 'isBot'>

/** Chat and author of a message. `undefined` for an unknown type of chat. */
export function sourceOf(message: JsonRecord, context: NormalizeContext): SessionSource | undefined {
  const chat = chatSourceOf(message, context)
  return chat && { ...chat, ...authorOf(message) }
}

/** Chat and topic of a message, without its author. */
export function chatSourceOf(message: JsonRecord, context: NormalizeContext): SessionSource | undefined {
  const chat = asRecord(message['chat'])
  const chatId = asId(chat['id'])
  const inTopic = message['is_topic_message'] === true
  const chatType = chatTypeOf(chat, inTopic)
  if (chatId === undefined || chatType === undefined) return undefined
  const threadId = inTopic ? asId(message['message_thread_id']) : undefined
  const messageId = asId(message['message_id'])
  const chatName = asText(chat['title'])
  const chatTopic = inTopic ? topicNameOf(message) : undefined
  return {
    platform: context.platform,
    account: context.account,
    chatId,
    chatType,
    chatName,
    threadId,
    chatTopic,
    messageId,
  }
}

function chatTypeOf(chat: JsonRecord, inTopic: boolean): ChatType | undefined {
  switch (chat['type']) {
    case 'private':
      return 'dm'
    case 'group':
    case 'supergroup':
      return inTopic || chat['is_forum'] === true ? 'forum' : 'group'
    case 'channel':
      return 'channel'
    default:
      return undefined
  }
}

/**
 * The author has a name but no user id where a chat is the sender: an anonymous administrator, a channel, or a channel
 * post in its discussion group. Telegram then fills `from` with a placeholder user, which must not match an allow list.
 */
function authorOf(message: JsonRecord): Author {
  const { sender_chat: senderChat, author_signature: signature } = message
  if (senderChat !== undefined) return { userName: asText(signature) ?? asText(asRecord(senderChat)['title']) }
  return userOf(asRecord(message['from']))
}

/** Reads a `User` of the Bot API. */
export function userOf(user: JsonRecord): Author {
  const userId = asId(user['id'])
  return {
    userId,
    userName: nameOf(user),
    ...(user['is_bot'] === true ? { isBot: true } : {}),
  }
}

/** The display name, or the username without one. */
export function nameOf(user: JsonRecord): string | undefined {
  const parts = [asText(user['first_name']), asText(user['last_name'])].filter((part) => part !== undefined)
  return parts.length > 0 ? parts.join(' ') : asText(user['username'])
}

/** A message in a topic that is not a reply points to the message that created the topic. */
function topicNameOf(message: JsonRecord): string | undefined {
  return asText(asRecord(asRecord(message['reply_to_message'])['forum_topic_created'])['name'])
}

/** Text, type and attachments. `undefined` for service messages and unknown content. */
export function contentOf(message: JsonRecord): MessageContent | undefined {
  const text = asText(message['text'])
  if (text === undefined) return nonTextContentOf(message)
  const entities = asRecords(message['entities'])
  const formatted = entities.length === 0 ? { text, entities } : toMarkdown({ text, entities })
  const messageType = formatted.text.trimStart().startsWith('/') ? 'command' : 'text'
  return { ...formatted, messageType, attachments: [] }
}

/** The message that this one replies to, or the quoted part of it. `undefined` when it is not a reply. */
export function replyOf(message: JsonRecord, botId: string): MessageEvent['replyTo'] {
  const repliedTo = repliedMessageOf(message)
  const quote = asText(asRecord(message['quote'])['text'])
  if (repliedTo === undefined) return externalReplyOf(message, quote)
  const messageId = asId(repliedTo['message_id'])
  if (messageId === undefined) return undefined
  const text = quote ?? quotableText(repliedTo)
  const { userId: authorId, userName: authorName } = userOf(asRecord(repliedTo['from']))
  return {
    messageId,
    text,
    authorId,
    authorName,
    ...(authorId === undefined ? {} : { isOwnMessage: authorId === botId }),
  }
}

export function isReplyTo(message: JsonRecord, userId: string): boolean {
  const repliedTo = repliedMessageOf(message)
  return repliedTo !== undefined && asId(asRecord(repliedTo['from'])['id']) === userId
}

/** In topics every message points to the one that created the topic. That is not a reply. */
function repliedMessageOf(message: JsonRecord): JsonRecord | undefined {
  const repliedTo = message['reply_to_message']
  if (!isRecord(repliedTo) || 'forum_topic_created' in repliedTo) return undefined
  return repliedTo
}

/** A message of another chat, which the bot cannot see. Its id is missing when that chat is private. */
function externalReplyOf(message: JsonRecord, quote: string | undefined): MessageEvent['replyTo'] {
  const external = asRecord(message['external_reply'])
  const messageId = asId(external['message_id'])
  if (messageId === undefined) return undefined
  const text = quote ?? quotableText(external)
  return text === undefined ? undefined : { messageId, text }
}

/** One line about a message of another chat that has no id, so that it cannot be named in `replyTo`. */
export function externalQuoteOf(message: JsonRecord): string | undefined {
  const external = message['external_reply']
  if (!isRecord(external) || asId(external['message_id']) !== undefined) return undefined
  const text = asText(asRecord(message['quote'])['text']) ?? quotableText(external)
  const quote = text === undefined ? '' : `: "${oneLine(text)}"`
  return `[In reply to a message of another chat, from ${originOf(external['origin']) ?? 'unknown user'}${quote}]`
}

/** The files of the message that this one replies to, also when that is in another chat. */
export function quotedAttachmentsOf(message: JsonRecord): readonly Attachment[] {
  const repliedTo = repliedMessageOf(message) ?? message['external_reply']
  if (!isRecord(repliedTo)) return []
  const attachments = contentOf(repliedTo)?.attachments ?? []
  return attachments.map((file) => ({ ...file, quoted: true }))
}

/** The author of a forwarded or quoted message (`MessageOrigin`). `undefined` without an origin. */
export function originOf(origin: unknown): string | undefined {
  if (!isRecord(origin)) return undefined
  const { sender_user: user, sender_user_name: name, sender_chat: group, chat: channel } = origin
  const from = nameOf(asRecord(user)) ?? asText(name) ?? asText(asRecord(group ?? channel)['title'])
  return from === undefined ? 'unknown user' : oneLine(from, 80)
}

function quotableText(message: JsonRecord): string | undefined {
  const content = contentOf(message)
  if (content === undefined) return undefined
  return content.text === '' ? `[${content.messageType}]` : content.text
}

/** Milliseconds since 1970; 0 where Telegram sends no time. */
export function timeOf(seconds: unknown): number {
  return Math.max(0, asNumber(seconds) ?? 0) * 1_000
}
