/**
 * Whether a message in a group is meant for the bot, and what it says without the bot's name.
 */
import type { SessionSource } from '#sdk'
import type { MessageContent } from './content.ts'
import type { NormalizeContext } from './context.ts'
import { asId, asNumber, asRecord, type JsonRecord } from './payload.ts'
import { isReplyTo } from './reply.ts'

/** Where a name of the bot stands in a text. */
interface TextSpan {
  readonly from: number
  readonly to: number
}

/** `elsewhere`: a command for another bot. */
export type Addressee = 'us' | 'nobody' | 'elsewhere'

/** Whom a message names, by mention, answer, command or one of the account's words. */
export function addresseeOf(
  message: JsonRecord,
  { text, entities }: MessageContent,
  view: NormalizeContext,
): Addressee {
  const command = leadingCommand(text, entities)
  if (command !== undefined) {
    const [, bot] = command.split('@', 2)
    return bot === undefined || isBotUsername(bot, view) ? 'us' : 'elsewhere'
  }
  if (mentionsIn(text, entities, view).length > 0) return 'us'
  if (isReplyTo(message, view.botId)) return 'us'
  return view.groups.matchesMention(text) ? 'us' : 'nobody'
}

/** Whether it counts where it was written. */
export function shouldProcess(source: SessionSource, addressee: Addressee, view: NormalizeContext): boolean {
  const { requireMention, freeResponseChats, ignoredThreads, allowBots } = view.groups
  // Somebody who runs two bots must be able to let them meet without an endless talk.
  if (source.isBot === true && allowBots === 'mentions' && addressee !== 'us') return false
  if (source.chatType === 'dm') return true
  const threadId = source.threadId ?? (source.chatType === 'forum' ? '1' : undefined)
  const place = `${source.chatId}:${threadId}`
  if (threadId !== undefined && (ignoredThreads.has(threadId) || ignoredThreads.has(place))) return false
  if (addressee === 'elsewhere') return false
  return addressee === 'us' || !requireMention || freeResponseChats.has(source.chatId) || freeResponseChats.has(place)
}

/** The text without the bot's name; untouched where it is not named. */
export function withoutMention({ text, entities }: MessageContent, view: NormalizeContext): string {
  const command = leadingCommand(text, entities)
  const suffix = command?.indexOf('@') ?? -1
  if (command !== undefined && suffix > 0 && isBotUsername(command.slice(suffix + 1), view)) {
    return `${command.slice(0, suffix)}${text.slice(command.length)}`
  }
  const spans = mentionsIn(text, entities, view)
  if (spans.length === 0) return text
  let kept = ''
  let end = 0
  for (const { from, to } of spans) {
    if (from < end) continue
    kept = joinAroundMention(kept, text.slice(end, from))
    end = to
  }
  return joinAroundMention(kept, text.slice(end)).trim()
}

/** Puts two parts together where a name stood between them. */
function joinAroundMention(before: string, after: string): string {
  if (before.trim() === '') return after.replace(/^\s*[,:;]?\s*/, '')
  if (/^[,:;.!?]/.test(after)) return before.trimEnd() + after
  return /\s$/.test(before) ? before + after.replace(/^ /, '') : before + after
}

/** `/cmd` or `/cmd@bot` at the very beginning. */
function leadingCommand(text: string, entities: readonly JsonRecord[]): string | undefined {
  const marked = entities.some(({ type, offset }) => type === 'bot_command' && offset === 0)
  return marked ? /^\/\w+(?:@\w+)?/.exec(text)?.[0] : undefined
}

function mentionsIn(text: string, entities: readonly JsonRecord[], view: NormalizeContext): TextSpan[] {
  return entities
    .flatMap((entity) => {
      const from = asNumber(entity['offset']) ?? -1
      const to = from + (asNumber(entity['length']) ?? 0)
      if (!Number.isInteger(from) || from < 0 || to <= from || to > text.length) return []
      return isBotMention(entity, text.slice(from, to), view) ? [{ from, to }] : []
    })
    .sort((one, other) => one.from - other.from)
}

function isBotMention(entity: JsonRecord, text: string, view: NormalizeContext): boolean {
  if (entity['type'] === 'mention') return text.startsWith('@') && isBotUsername(text.slice(1), view)
  return entity['type'] === 'text_mention' && asId(asRecord(entity['user'])['id']) === view.botId
}

function isBotUsername(name: string, { username }: NormalizeContext): boolean {
  return username !== '' && name.toLowerCase() === username.toLowerCase()
}
