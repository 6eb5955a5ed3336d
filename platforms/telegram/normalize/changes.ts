/**
 * What happens to a message after it was written, and presses of its buttons.
 */
import type { ButtonPress, ReactionChange } from '#sdk'
import { type Fields, fieldsOf, idOf, listOf, numberOf, textOf } from '../fields.ts'
import { personOf, placeOf } from './source.ts'
import type { BotView } from './view.ts'

/**
 * Whether people changed the words: a place that moves on, or a keyboard, comes as an edit as well. What the words were
 * before, nobody says.
 */
export function hasWords(message: Fields): boolean {
  return textOf(message['text']) !== undefined || textOf(message['caption']) !== undefined
}

/** One change for each emoji that came or went. */
export function reactionsOf(update: Fields, view: BotView): readonly ReactionChange[] {
  const place = placeOf(update, view)
  const messageId = idOf(update['message_id'])
  if (place === undefined || messageId === undefined) return []
  // Anonymous administrators react as their chat.
  const person = update['actor_chat'] === undefined ? personOf(fieldsOf(update['user'])) : {}
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
    listOf(reactions).flatMap((reaction) => {
      if (reaction['type'] === 'paid') return ['⭐']
      const custom = textOf(reaction['custom_emoji_id'])
      return textOf(reaction['emoji']) ?? (custom === undefined ? [] : `custom:${custom}`)
    }),
  )
}

/** Undefined for buttons that are none of ours: of inline messages, of games. */
export function pressOf(query: Fields, view: BotView): ButtonPress | undefined {
  const message = fieldsOf(query['message'])
  const place = placeOf(message, view)
  const buttonId = textOf(query['data'])
  const messageId = idOf(message['message_id'])
  if (place === undefined || buttonId === undefined || messageId === undefined) return undefined
  // The message is the bot's own; the person is who pressed.
  return { source: { ...place, ...personOf(fieldsOf(query['from'])) }, buttonId, messageId }
}

/** ms since 1970; 0 where Telegram does not say. */
export function timeOf(seconds: unknown): number {
  return Math.max(0, numberOf(seconds) ?? 0) * 1_000
}
