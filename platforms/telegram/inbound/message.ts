/**
 * Reads a Telegram message: the chat, the author, the message it replies to, its text, and whether it is addressed to the bot.
 * Everything that a plain text message needs is here; `content.ts` reads the other kinds.
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
  // Most messages with entities are commands, or mention the bot.
  const isPlain = entities.every(({ type }) => type === 'bot_command' || type === 'mention')
  const formatted = isPlain ? { text, entities } : toMarkdown({ text, entities })
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

/** A mention of the bot in a text. */
interface TextSpan {
  readonly from: number
  readonly to: number
}

export type Addressee = 'us' | 'other-bot' | 'none'

/** The bot that a message is addressed to by a command, a mention, a reply or a mention pattern. */
export function addresseeOf(
  message: JsonRecord,
  { text, entities }: MessageContent,
  context: NormalizeContext,
): Addressee {
  const command = leadingCommand(text, entities)
  if (command !== undefined) {
    const [, bot] = command.split('@', 2)
    return bot === undefined || isBotUsername(bot, context) ? 'us' : 'other-bot'
  }
  if (mentionsIn(text, entities, context).length > 0) return 'us'
  if (isReplyTo(message, context.botId)) return 'us'
  return context.groups.matchesMention?.(text) === true ? 'us' : 'none'
}

/** Applies the rules for groups and for other bots. */
export function shouldProcess(source: SessionSource, addressee: Addressee, context: NormalizeContext): boolean {
  const { requireMention, freeResponseChats, ignoredThreads, allowBots } = context.groups
  // Without this rule two bots in one group would answer each other without end.
  if (source.isBot === true && allowBots === 'mentions' && addressee !== 'us') return false
  if (source.chatType === 'dm') return true
  const threadId = source.threadId ?? (source.chatType === 'forum' ? '1' : undefined)
  const topic = `${source.chatId}:${threadId}`
  if (threadId !== undefined && (ignoredThreads.has(threadId) || ignoredThreads.has(topic))) return false
  if (addressee === 'other-bot') return false
  return addressee === 'us' || !requireMention || freeResponseChats.has(source.chatId) || freeResponseChats.has(topic)
}

/** The text without mentions of the bot. */
export function withoutMention({ text, entities }: MessageContent, context: NormalizeContext): string {
  const command = leadingCommand(text, entities)
  const suffix = command?.indexOf('@') ?? -1
  if (command !== undefined && suffix > 0 && isBotUsername(command.slice(suffix + 1), context)) {
    return `${command.slice(0, suffix)}${text.slice(command.length)}`
  }
  const spans = mentionsIn(text, entities, context)
  if (spans.length === 0) return text
  let result = ''
  let end = 0
  for (const { from, to } of spans) {
    if (from < end) continue
    result = joinAroundMention(result, text.slice(end, from))
    end = to
  }
  return joinAroundMention(result, text.slice(end)).trim()
}

/** Joins the two parts around a removed mention. */
function joinAroundMention(before: string, after: string): string {
  if (before.trim() === '') return after.replace(/^\s*[,:;]?\s*/, '')
  if (/^[,:;.!?]/.test(after)) return before.trimEnd() + after
  return /\s$/.test(before) ? before + after.replace(/^ /, '') : before + after
}

/** `/cmd` or `/cmd@bot` at the start of the text. */
function leadingCommand(text: string, entities: readonly JsonRecord[]): string | undefined {
  const marked = entities.some(({ type, offset }) => type === 'bot_command' && offset === 0)
  return marked ? /^\/\w+(?:@\w+)?/.exec(text)?.[0] : undefined
}

function mentionsIn(text: string, entities: readonly JsonRecord[], context: NormalizeContext): TextSpan[] {
  return entities
    .flatMap((entity) => {
      const from = asNumber(entity['offset']) ?? -1
      const to = from + (asNumber(entity['length']) ?? 0)
      if (!Number.isInteger(from) || from < 0 || to <= from || to > text.length) return []
      return isBotMention(entity, text.slice(from, to), context) ? [{ from, to }] : []
    })
    .sort((a, b) => a.from - b.from)
}

function isBotMention(entity: JsonRecord, text: string, context: NormalizeContext): boolean {
  if (entity['type'] === 'mention') return text.startsWith('@') && isBotUsername(text.slice(1), context)
  return entity['type'] === 'text_mention' && asId(asRecord(entity['user'])['id']) === context.botId
}

function isBotUsername(name: string, { username }: NormalizeContext): boolean {
  return username !== '' && name.toLowerCase() === username.toLowerCase()
}
