/**
 * Messages people (and other bots) write.
 */
import { type MessageEvent, type MessageType, parseCommand } from '#sdk'
import { messageTypeOf, parseAttachments } from './attachments.ts'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { mentionsUser } from './mentions.ts'
import { isTrueAt, type JsonRecord, recordAt, recordsAt, textAt, tsAt, tsToTime } from './payload.ts'
import { isDirectMessage, type MessageLocation, messageKey, readMarkOf, sourceOf } from './source.ts'
import { toPlainText } from './text.ts'

/** Subtypes that are something somebody said; the others are Slack's own notices. */
const userMessageSubtypes: ReadonlySet<string> = new Set([
  'file_share',
  'thread_broadcast',
  'bot_message',
  'me_message',
])

export function normalizeMessage(message: JsonRecord, view: NormalizeContext): InboundEvent {
  const place = messageLocationOf(message)
  if (place === undefined) return ignored('a message without a channel or a time')
  if (isOwnMessage(message, view)) return ignored('our own message')
  if (!isUserMessage(message)) return ignored(`a notice (${textAt(message, 'subtype') ?? 'hidden'})`)
  const reason = ignoreReason(message, place, view)
  if (reason !== undefined) return ignored(reason)
  const event = toMessageEvent(message, place, view)
  if (event.text === '' && event.attachments === undefined) return ignored('a message without text or files')
  const key = messageKey(place.channel, place.ts, view)
  return { kind: 'message', event, keys: [key], mark: readMarkOf(event.source, place.ts) }
}

export function messageLocationOf(message: JsonRecord): (MessageLocation & { readonly ts: string }) | undefined {
  const channel = textAt(message, 'channel')
  const ts = tsAt(message)
  if (channel === undefined || ts === undefined) return undefined
  return { channel, ts, channelType: textAt(message, 'channel_type'), threadTs: tsAt(message, 'thread_ts') }
}

export function isOwnMessage(message: JsonRecord, { identity }: NormalizeContext): boolean {
  const botId = textAt(message, 'bot_id')
  return textAt(message, 'user') === identity.botUserId || (botId !== undefined && botId === identity.botId)
}

export function isUserMessage(message: JsonRecord): boolean {
  const subtype = textAt(message, 'subtype')
  return !isTrueAt(message, 'hidden') && (subtype === undefined || userMessageSubtypes.has(subtype))
}

/** Why a message is none of our business; undefined when it is meant for us. */
export function ignoreReason(message: JsonRecord, place: MessageLocation, view: NormalizeContext): string | undefined {
  const { rules, identity } = view
  if (rules.ignoredChannels.includes(place.channel)) return 'the channel is ignored'
  const named = mentionsUser(message, identity.botUserId)
  if (isBot(message) && (rules.allowBots === 'none' || (rules.allowBots === 'mentions' && !named))) {
    return 'written by another bot'
  }
  if (named || isDirectMessage(place) || !rules.requireMention || rules.freeResponseChannels.includes(place.channel))
    return undefined
  if (!rules.strictMention && isFollowUp(message, place, view)) return undefined
  return 'the bot is not mentioned'
}

/** In a thread in which the bot has taken part a message needs no mention. */
function isFollowUp(
  message: JsonRecord,
  { channel, ts, threadTs }: MessageLocation,
  { identity, hasJoinedThread }: NormalizeContext,
): boolean {
  if (threadTs === undefined || threadTs === ts) return false
  return textAt(message, 'parent_user_id') === identity.botUserId || hasJoinedThread(channel, threadTs)
}

export function toMessageEvent(
  message: JsonRecord,
  place: MessageLocation & { readonly ts: string },
  view: NormalizeContext,
): MessageEvent {
  const attachments = parseAttachments(message)
  const text = withCommandPrefix(messageText(message, view), view)
  const messageType: MessageType = parseCommand({ text }) === null ? messageTypeOf(attachments) : 'command'
  return {
    source: sourceOf(place, authorOf(message, view), view),
    text,
    messageType,
    messageId: place.ts,
    timestamp: tsToTime(place.ts),
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}

function authorOf(message: JsonRecord, view: NormalizeContext) {
  const userId = textAt(message, 'user') ?? textAt(message, 'bot_id')
  const profile = recordAt(message, 'user_profile')
  const known = userId === undefined ? undefined : view.userNameOf(userId)
  const userName = textAt(profile, 'display_name') ?? textAt(profile, 'real_name') ?? known
  return { userId, userName: userName ?? textAt(message, 'username'), isBot: isBot(message) }
}

function isBot(message: JsonRecord): boolean {
  return textAt(message, 'bot_id') !== undefined || textAt(message, 'subtype') === 'bot_message'
}

function messageText(message: JsonRecord, view: NormalizeContext): string {
  const own = textAt(message, 'text') ?? ''
  const shared = recordsAt(message, 'attachments').flatMap((attachment) => sharedMessageText(attachment, own === ''))
  const textView = { botUserId: view.identity.botUserId, nameOf: view.userNameOf }
  return [own, ...shared]
    .filter((part) => part !== '')
    .map((part) => toPlainText(part, textView))
    .join('\n')
}

/** A message that was passed on; and where a bot writes its text nowhere else, its attachments. */
function sharedMessageText(attachment: JsonRecord, nothingElse: boolean): string[] {
  const passedOn = isTrueAt(attachment, 'is_share') || isTrueAt(attachment, 'is_msg_unfurl')
  if (!passedOn && !nothingElse) return []
  const text = textAt(attachment, 'text') ?? textAt(attachment, 'fallback')
  if (text === undefined) return []
  if (!passedOn) return [text]
  const author = textAt(attachment, 'author_name') ?? textAt(attachment, 'author_id') ?? 'somebody'
  return [`[Passed on, from ${author.replace(/[\r\n[\]]+/g, ' ')}]\n${text}`]
}

/** `!status` is `/status`: Slack keeps words that begin with a slash for itself. Only commands that exist. */
export function withCommandPrefix(text: string, { isCommand }: Pick<NormalizeContext, 'isCommand'>): string {
  const word = /^!([A-Za-z][\w-]*)(?=\s|$)/.exec(text)?.[1]
  return word !== undefined && isCommand(word.toLowerCase()) ? `/${text.slice(1)}` : text
}
