/**
 * Decides whether the bot handles a message, and removes the bot's name from its text.
 */
import type { SessionSource } from '#sdk'
import type { MessageContent } from './content.ts'
import { isReplyTo, type NormalizeContext } from './message.ts'
import { asId, asNumber, asRecord, type JsonRecord } from './payload.ts'

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
