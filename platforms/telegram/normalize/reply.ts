/**
 * What a message answers: the message itself, or the part of it that was quoted.
 */
import type { MessageEvent } from '#sdk'
import { type Fields, fieldsOf, idOf, isFields, textOf } from '../fields.ts'
import { contentOf } from './content.ts'
import { personOf } from './source.ts'

/** Undefined where nothing is answered. */
export function replyOf(message: Fields, botId: string): MessageEvent['replyTo'] {
  const answered = answeredIn(message)
  const quote = textOf(fieldsOf(message['quote'])['text'])
  if (answered === undefined) return elsewhere(message, quote)
  const messageId = idOf(answered['message_id'])
  if (messageId === undefined) return undefined
  const text = quote ?? textIn(answered)
  const { userId: authorId, userName: authorName } = personOf(fieldsOf(answered['from']))
  return {
    messageId,
    ...(text === undefined ? {} : { text }),
    ...(authorId === undefined ? {} : { authorId }),
    ...(authorName === undefined ? {} : { authorName }),
    ...(authorId === undefined ? {} : { isOwnMessage: authorId === botId }),
  }
}

/** The message is an answer to this user. */
export function isAnswerTo(message: Fields, userId: string): boolean {
  const answered = answeredIn(message)
  return answered !== undefined && idOf(fieldsOf(answered['from'])['id']) === userId
}

/** In topics every message points at the one that opened the topic: that is no answer. */
function answeredIn(message: Fields): Fields | undefined {
  const answered = message['reply_to_message']
  if (!isFields(answered) || 'forum_topic_created' in answered) return undefined
  return answered
}

/** A quote from another chat, whose message the bot cannot see. */
function elsewhere(message: Fields, quote: string | undefined): MessageEvent['replyTo'] {
  const messageId = idOf(fieldsOf(message['external_reply'])['message_id'])
  return messageId === undefined || quote === undefined ? undefined : { messageId, text: quote }
}

function textIn(message: Fields): string | undefined {
  const content = contentOf(message)
  if (content === undefined) return undefined
  return content.text === '' ? `[${content.messageType}]` : content.text
}
