/**
 * Messages people (and other bots) write.
 */
import { type MessageEvent, type MessageType, parseCommand } from '#sdk'
import { isDirect, markOf, messageKey, type Place, sourceOf } from './address.ts'
import { type Incoming, ignored, type View } from './incoming.ts'
import { readFiles, typeWith } from './incoming-files.ts'
import { readText } from './incoming-text.ts'
import { mentions } from './mentions.ts'
import { type Fields, fieldsIn, isTrue, listIn, textIn, timeOf, tsIn } from './payload.ts'

/** Subtypes that are something somebody said; the others are Slack's own notices. */
const spoken: ReadonlySet<string> = new Set(['file_share', 'thread_broadcast', 'bot_message', 'me_message'])

export function normalizeMessage(message: Fields, view: View): Incoming {
  const place = placeOf(message)
  if (place === undefined) return ignored('a message without a channel or a time')
  if (isOwn(message, view)) return ignored('our own message')
  if (!isSpoken(message)) return ignored(`a notice (${textIn(message, 'subtype') ?? 'hidden'})`)
  const reason = whyNotAddressed(message, place, view)
  if (reason !== undefined) return ignored(reason)
  const event = readMessage(message, place, view)
  if (event.text === '' && event.attachments === undefined) return ignored('a message without text or files')
  const key = messageKey(place.channel, place.ts, view)
  return { kind: 'message', event, keys: [key], mark: markOf(event.source, place.ts) }
}

export function placeOf(message: Fields): (Place & { readonly ts: string }) | undefined {
  const channel = textIn(message, 'channel')
  const ts = tsIn(message)
  if (channel === undefined || ts === undefined) return undefined
  return { channel, ts, channelType: textIn(message, 'channel_type'), threadTs: tsIn(message, 'thread_ts') }
}

export function isOwn(message: Fields, { identity }: View): boolean {
  const botId = textIn(message, 'bot_id')
  return textIn(message, 'user') === identity.botUserId || (botId !== undefined && botId === identity.botId)
}

export function isSpoken(message: Fields): boolean {
  const subtype = textIn(message, 'subtype')
  return !isTrue(message, 'hidden') && (subtype === undefined || spoken.has(subtype))
}

/** Why a message is none of our business; undefined when it is meant for us. */
export function whyNotAddressed(message: Fields, place: Place, view: View): string | undefined {
  const { rules, identity } = view
  if (rules.ignoredChannels.includes(place.channel)) return 'the channel is ignored'
  const named = mentions(message, identity.botUserId)
  if (isBot(message) && (rules.allowBots === 'none' || (rules.allowBots === 'mentions' && !named))) {
    return 'written by another bot'
  }
  if (named || isDirect(place) || !rules.requireMention || rules.freeChannels.includes(place.channel)) return undefined
  if (!rules.strictMention && isFollowUp(message, place, view)) return undefined
  return 'the bot is not mentioned'
}

/** In a thread in which the bot has taken part a message needs no mention. */
function isFollowUp(message: Fields, { channel, ts, threadTs }: Place, { identity, participates }: View): boolean {
  if (threadTs === undefined || threadTs === ts) return false
  return textIn(message, 'parent_user_id') === identity.botUserId || participates(channel, threadTs)
}

export function readMessage(message: Fields, place: Place & { readonly ts: string }, view: View): MessageEvent {
  const attachments = readFiles(message)
  const text = withCommandPrefix(textOf(message, view), view)
  const messageType: MessageType = parseCommand({ text }) === null ? typeWith(attachments) : 'command'
  return {
    source: sourceOf(place, authorOf(message, view), view),
    text,
    messageType,
    messageId: place.ts,
    timestamp: timeOf(place.ts),
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}

function authorOf(message: Fields, view: View) {
  const userId = textIn(message, 'user') ?? textIn(message, 'bot_id')
  const profile = fieldsIn(message, 'user_profile')
  const known = userId === undefined ? undefined : view.nameOf(userId)
  const userName = textIn(profile, 'display_name') ?? textIn(profile, 'real_name') ?? known
  return { userId, userName: userName ?? textIn(message, 'username'), isBot: isBot(message) }
}

function isBot(message: Fields): boolean {
  return textIn(message, 'bot_id') !== undefined || textIn(message, 'subtype') === 'bot_message'
}

function textOf(message: Fields, view: View): string {
  const own = textIn(message, 'text') ?? ''
  const shared = listIn(message, 'attachments').flatMap((attachment) => sharedText(attachment, own === ''))
  const textView = { botUserId: view.identity.botUserId, nameOf: view.nameOf }
  return [own, ...shared]
    .filter((part) => part !== '')
    .map((part) => readText(part, textView))
    .join('\n')
}

/** A message that was passed on; and where a bot writes its text nowhere else, its attachments. */
function sharedText(attachment: Fields, nothingElse: boolean): string[] {
  const passedOn = isTrue(attachment, 'is_share') || isTrue(attachment, 'is_msg_unfurl')
  if (!passedOn && !nothingElse) return []
  const text = textIn(attachment, 'text') ?? textIn(attachment, 'fallback')
  if (text === undefined) return []
  if (!passedOn) return [text]
  const author = textIn(attachment, 'author_name') ?? textIn(attachment, 'author_id') ?? 'somebody'
  return [`[Passed on, from ${author.replace(/[\r\n[\]]+/g, ' ')}]\n${text}`]
}

/** `!status` is `/status`: Slack keeps words that begin with a slash for itself. Only commands that exist. */
export function withCommandPrefix(text: string, { isCommand }: Pick<View, 'isCommand'>): string {
  const word = /^!([A-Za-z][\w-]*)(?=\s|$)/.exec(text)?.[1]
  return word !== undefined && isCommand(word.toLowerCase()) ? `/${text.slice(1)}` : text
}
