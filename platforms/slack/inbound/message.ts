/**
 * Reads messages of users and other bots.
 */
import { type MessageEvent, type MessageType, parseCommand } from '#sdk'
import {
  appAttachmentText,
  isLinkPreview,
  isSharedMessage,
  sharedMessageOf,
  shownText,
  withoutForgedOrigin,
} from './app-content.ts'
import { messageTypeOf, parseAttachments } from './attachments.ts'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { mentionsUser } from './mentions.ts'
import { isTrueAt, type JsonRecord, recordAt, recordsAt, textAt, tsAt, tsToTime } from './payload.ts'
import { cursorOf, isDirectMessage, type MessageLocation, messageKey, sourceOf } from './source.ts'
import { toPlainText } from './text.ts'

/** Subtypes of messages that have an author. The others are notices of Slack. */
const userMessageSubtypes: ReadonlySet<string> = new Set([
  'file_share',
  'thread_broadcast',
  'bot_message',
  'me_message',
])

export function normalizeMessage(message: JsonRecord, context: NormalizeContext): InboundEvent {
  const location = messageLocationOf(message)
  if (location === undefined) return ignored('a message without a channel or a time')
  if (isOwnMessage(message, context)) return ignored('a message of the bot')
  if (!isUserMessage(message)) return ignored(`a notice (${textAt(message, 'subtype') ?? 'hidden'})`)
  const reason = ignoreReason(message, location, context)
  if (reason !== undefined) return ignored(reason)
  const event = toMessageEvent(message, location, context)
  if (event.text === '' && event.attachments === undefined) return ignored('a message without text or files')
  const key = messageKey(location.channel, location.ts, context)
  return { kind: 'message', event, keys: [key], cursor: cursorOf(event.source, location.ts) }
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

/** Why the bot does not handle a message; `undefined` when it does. */
export function ignoreReason(
  message: JsonRecord,
  location: MessageLocation,
  context: NormalizeContext,
): string | undefined {
  const { rules, identity } = context
  if (rules.ignoredChannels.includes(location.channel)) return 'the channel is ignored'
  const isMentioned = mentionsUser(message, identity.botUserId)
  if (isBot(message) && (rules.allowBots === 'none' || (rules.allowBots === 'mentions' && !isMentioned))) {
    return 'written by another bot'
  }
  if (
    isMentioned ||
    isDirectMessage(location) ||
    !rules.requireMention ||
    rules.freeResponseChannels.includes(location.channel)
  )
    return undefined
  if (!rules.strictMention && isFollowUp(message, location, context)) return undefined
  return 'the bot is not mentioned'
}

/** In a thread in which the bot takes part a message needs no mention. */
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
  location: MessageLocation & { readonly ts: string },
  context: NormalizeContext,
): MessageEvent {
  const attachments = parseAttachments(message)
  const text = withCommandPrefix(messageText(message, context), context)
  const messageType: MessageType = parseCommand({ text }) === null ? messageTypeOf(attachments) : 'command'
  return {
    source: sourceOf(location, authorOf(message, context), context),
    text,
    messageType,
    messageId: location.ts,
    timestamp: tsToTime(location.ts),
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}

function authorOf(message: JsonRecord, context: NormalizeContext) {
  const userId = textAt(message, 'user') ?? textAt(message, 'bot_id')
  const profile = recordAt(message, 'user_profile')
  const known = userId === undefined ? undefined : context.nameOf(userId)
  const userName = textAt(profile, 'display_name') ?? textAt(profile, 'real_name') ?? known
  return { userId, userName: userName ?? textAt(message, 'username'), isBot: isBot(message) }
}

function isBot(message: JsonRecord): boolean {
  return textAt(message, 'bot_id') !== undefined || textAt(message, 'subtype') === 'bot_message'
}

/** The text of a message with that of its blocks and attachments. */
export function messageText(message: JsonRecord, context: NormalizeContext): string {
  const textView = { botUserId: context.identity.botUserId, nameOf: context.nameOf }
  const written = (text: string) => withoutForgedOrigin(toPlainText(text, textView))
  const shown = shownText(message)
  const isFromApp = isBot(message)
  const attached = recordsAt(message, 'attachments').flatMap((attachment) => {
    if (isSharedMessage(attachment)) {
      const { origin, text } = sharedMessageOf(attachment)
      return [toPlainText(origin, textView), written(text)]
    }
    const isShown = shown === '' || (isFromApp && !isLinkPreview(attachment))
    return isShown ? [written(appAttachmentText(attachment))] : []
  })
  return [written(shown), ...attached].filter((part) => part !== '').join('\n')
}

/** Converts `!status` to `/status` if the command exists, because Slack intercepts messages that start with a slash. */
export function withCommandPrefix(text: string, { isCommand }: Pick<NormalizeContext, 'isCommand'>): string {
  const word = /^!([A-Za-z][\w-]*)(?=\s|$)/.exec(text)?.[1]
  return word !== undefined && isCommand(word.toLowerCase()) ? `/${text.slice(1)}` : text
}
