/**
 * What happens to a message after it was written, and presses of its buttons.
 */
import type { ButtonPress, ReactionChange } from '#sdk'
import type { NormalizeContext } from './context.ts'
import { asId, asNumber, asRecord, asRecords, asText, type JsonRecord } from './payload.ts'
import { chatSourceOf, userOf } from './source.ts'

/**
 * Whether people changed the words: a place that moves on, or a keyboard, comes as an edit as well. What the words were
 * before, nobody says.
 */
export function hasTextOrCaption(message: JsonRecord): boolean {
  return asText(message['text']) !== undefined || asText(message['caption']) !== undefined
}

/** One change for each emoji that came or went. */
export function toReactionChanges(update: JsonRecord, view: NormalizeContext): readonly ReactionChange[] {
  const place = chatSourceOf(update, view)
  const messageId = asId(update['message_id'])
  if (place === undefined || messageId === undefined) return []
  // Anonymous administrators react as their chat.
  const person = update['actor_chat'] === undefined ? userOf(asRecord(update['user'])) : {}
  const before = emojisOf(update['old_reaction'])
  const after = emojisOf(update['new_reaction'])
  const change = (added: boolean) => (reaction: string) => ({
    kind: 'reaction' as const,
    source: { ...place, ...person },
    added,
    reaction,
    messageId,
    timestamp: timeOf(update['date']),
    raw: update,
  })
  return [
    ...[...before].filter((emoji) => !after.has(emoji)).map(change(false)),
    ...[...after].filter((emoji) => !before.has(emoji)).map(change(true)),
  ]
}

function emojisOf(reactions: unknown): ReadonlySet<string> {
  return new Set(
    asRecords(reactions).flatMap((reaction) => {
      if (reaction['type'] === 'paid') return ['⭐']
      const custom = asText(reaction['custom_emoji_id'])
      return asText(reaction['emoji']) ?? (custom === undefined ? [] : `custom:${custom}`)
    }),
  )
}

/** Undefined for buttons that are none of ours: of inline messages, of games. */
export function toButtonPress(query: JsonRecord, view: NormalizeContext): ButtonPress | undefined {
  const message = asRecord(query['message'])
  const place = chatSourceOf(message, view)
  const buttonId = asText(query['data'])
  const messageId = asId(message['message_id'])
  if (place === undefined || buttonId === undefined || messageId === undefined) return undefined
  // The message is the bot's own; the person is who pressed.
  return { source: { ...place, ...userOf(asRecord(query['from'])) }, buttonId, messageId }
}

/** ms since 1970; 0 where Telegram does not say. */
export function timeOf(seconds: unknown): number {
  return Math.max(0, asNumber(seconds) ?? 0) * 1_000
}
