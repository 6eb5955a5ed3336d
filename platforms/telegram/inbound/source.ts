/**
 * Where a message came from: `chat`, `from` and the topic as a `SessionSource`.
 */
import type { ChatType, SessionSource } from '#sdk'
import type { NormalizeContext } from './context.ts'
import { asId, asRecord, asText, type JsonRecord } from './payload.ts'

/** Who stands behind a message, and where. Undefined for chats that we do not know. */
export function sourceOf(message: JsonRecord, view: NormalizeContext): SessionSource | undefined {
  const place = chatSourceOf(message, view)
  return place && { ...place, ...authorOf(message) }
}

/** Where a message stands, without who wrote it. */
export function chatSourceOf(message: JsonRecord, view: NormalizeContext): SessionSource | undefined {
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
    platform: view.platform,
    account: view.account,
    chatId,
    chatType,
    ...(chatName === undefined ? {} : { chatName }),
    ...(threadId === undefined ? {} : { threadId }),
    ...(chatTopic === undefined ? {} : { chatTopic }),
    ...(messageId === undefined ? {} : { messageId }),
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
 * The person, or only a name where a chat speaks: an anonymous administrator, a channel, a channel's post in its discussion
 * group. The user that Telegram then puts into `from` is a stand-in, and must not pass for somebody on an allow list.
 */
function authorOf(message: JsonRecord): Pick<SessionSource, 'userId' | 'userName' | 'isBot'> {
  const { sender_chat: speaker, author_signature: signature } = message
  if (speaker !== undefined) return withUserName(asText(signature) ?? asText(asRecord(speaker)['title']))
  return userOf(asRecord(message['from']))
}

/** A `User` of Telegram. */
export function userOf(user: JsonRecord): Pick<SessionSource, 'userId' | 'userName' | 'isBot'> {
  const userId = asId(user['id'])
  return {
    ...(userId === undefined ? {} : { userId }),
    ...withUserName(nameOf(user)),
    ...(user['is_bot'] === true ? { isBot: true } : {}),
  }
}

/** The name people see, or the username. */
export function nameOf(user: JsonRecord): string | undefined {
  const parts = [asText(user['first_name']), asText(user['last_name'])].filter((part) => part !== undefined)
  return parts.length > 0 ? parts.join(' ') : asText(user['username'])
}

function withUserName(userName: string | undefined): { userName?: string } {
  return userName === undefined ? {} : { userName }
}

/** A message that answers nothing points at the message that opened the topic. */
function topicNameOf(message: JsonRecord): string | undefined {
  return asText(asRecord(asRecord(message['reply_to_message'])['forum_topic_created'])['name'])
}
