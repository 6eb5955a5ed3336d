/**
 * What a message answers: the message itself, or the part of it that was quoted.
 */
import type { MessageEvent } from '#sdk'
import { contentOf } from './content.ts'
import { asId, asRecord, asText, isRecord, type JsonRecord } from './payload.ts'
import { userOf } from './source.ts'

/** Undefined where nothing is answered. */
export function replyOf(message: JsonRecord, botId: string): MessageEvent['replyTo'] {
  const answered = repliedMessageIn(message)
  const quote = asText(asRecord(message['quote'])['text'])
  if (answered === undefined) return externalReply(message, quote)
  const messageId = asId(answered['message_id'])
  if (messageId === undefined) return undefined
  const text = quote ?? quotableText(answered)
  const { userId: authorId, userName: authorName } = userOf(asRecord(answered['from']))
  return {
    messageId,
    ...(text === undefined ? {} : { text }),
    ...(authorId === undefined ? {} : { authorId }),
    ...(authorName === undefined ? {} : { authorName }),
    ...(authorId === undefined ? {} : { isOwnMessage: authorId === botId }),
  }
}

/** The message is an answer to this user. */
export function isReplyTo(message: JsonRecord, userId: string): boolean {
  const answered = repliedMessageIn(message)
  return answered !== undefined && asId(asRecord(answered['from'])['id']) === userId
}

/** In topics every message points at the one that opened the topic: that is no answer. */
function repliedMessageIn(message: JsonRecord): JsonRecord | undefined {
  const answered = message['reply_to_message']
  if (!isRecord(answered) || 'forum_topic_created' in answered) return undefined
  return answered
}

/** A quote from another chat, whose message the bot cannot see. */
function externalReply(message: JsonRecord, quote: string | undefined): MessageEvent['replyTo'] {
  const messageId = asId(asRecord(message['external_reply'])['message_id'])
  return messageId === undefined || quote === undefined ? undefined : { messageId, text: quote }
}

function quotableText(message: JsonRecord): string | undefined {
  const content = contentOf(message)
  if (content === undefined) return undefined
  return content.text === '' ? `[${content.messageType}]` : content.text
}
