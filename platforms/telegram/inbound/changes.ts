/**
 * Reads reactions and button presses.
 */
import type { ButtonPress, ReactionChange } from '#sdk'
import { chatSourceOf, type NormalizeContext, timeOf, userOf } from './message.ts'
import { asId, asRecord, asRecords, asText, type JsonRecord } from './payload.ts'

/** One change for each emoji that was added or removed. */
export function toReactionChanges(update: JsonRecord, context: NormalizeContext): readonly ReactionChange[] {
  const chat = chatSourceOf(update, context)
  const messageId = asId(update['message_id'])
  if (chat === undefined || messageId === undefined) return []
  // Anonymous administrators react as their chat.
  const author = update['actor_chat'] === undefined ? userOf(asRecord(update['user'])) : {}
  const before = emojisOf(update['old_reaction'])
  const after = emojisOf(update['new_reaction'])
  const change = (added: boolean) => (reaction: string) => ({
    kind: 'reaction' as const,
    source: { ...chat, ...author },
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

/** `undefined` for a button that the gateway did not create: of an inline message or a game. */
export function toButtonPress(query: JsonRecord, context: NormalizeContext): ButtonPress | undefined {
  const message = asRecord(query['message'])
  const chat = chatSourceOf(message, context)
  const buttonId = asText(query['data'])
  const messageId = asId(message['message_id'])
  if (chat === undefined || buttonId === undefined || messageId === undefined) return undefined
  // The author of the message is the bot. `from` of the query is the user who pressed the button.
  return { source: { ...chat, ...userOf(asRecord(query['from'])) }, buttonId, messageId }
}
