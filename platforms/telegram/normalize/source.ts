/**
 * Where a message came from: `chat`, `from` and the topic as a `SessionSource`.
 */
import type { ChatType, SessionSource } from '#sdk'
import { type Fields, fieldsOf, idOf, textOf } from '../fields.ts'
import type { BotView } from './view.ts'

/** Who stands behind a message, and where. Undefined for chats that we do not know. */
export function sourceOf(message: Fields, view: BotView): SessionSource | undefined {
  const place = placeOf(message, view)
  return place && { ...place, ...authorOf(message) }
}

/** Where a message stands, without who wrote it. */
export function placeOf(message: Fields, view: BotView): SessionSource | undefined {
  const chat = fieldsOf(message['chat'])
  const chatId = idOf(chat['id'])
  const inTopic = message['is_topic_message'] === true
  const chatType = chatTypeOf(chat, inTopic)
  if (chatId === undefined || chatType === undefined) return undefined
  const threadId = inTopic ? idOf(message['message_thread_id']) : undefined
  const messageId = idOf(message['message_id'])
  const chatName = textOf(chat['title'])
  const chatTopic = inTopic ? topicOf(message) : undefined
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

function chatTypeOf(chat: Fields, inTopic: boolean): ChatType | undefined {
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
function authorOf(message: Fields): Pick<SessionSource, 'userId' | 'userName' | 'isBot'> {
  const { sender_chat: speaker, author_signature: signature } = message
  if (speaker !== undefined) return named(textOf(signature) ?? textOf(fieldsOf(speaker)['title']))
  return personOf(fieldsOf(message['from']))
}

/** A `User` of Telegram. */
export function personOf(user: Fields): Pick<SessionSource, 'userId' | 'userName' | 'isBot'> {
  const userId = idOf(user['id'])
  return {
    ...(userId === undefined ? {} : { userId }),
    ...named(nameOf(user)),
    ...(user['is_bot'] === true ? { isBot: true } : {}),
  }
}

/** The name people see, or the username. */
export function nameOf(user: Fields): string | undefined {
  const parts = [textOf(user['first_name']), textOf(user['last_name'])].filter((part) => part !== undefined)
  return parts.length > 0 ? parts.join(' ') : textOf(user['username'])
}

function named(userName: string | undefined): { userName?: string } {
  return userName === undefined ? {} : { userName }
}

/** A message that answers nothing points at the message that opened the topic. */
function topicOf(message: Fields): string | undefined {
  return textOf(fieldsOf(fieldsOf(message['reply_to_message'])['forum_topic_created'])['name'])
}
