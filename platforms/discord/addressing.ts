/**
 * Whom a message is for, and whether its answer gets a thread of its own. Pure.
 */
import { isBotMessage } from './content.ts'
import { channelTypes } from './directory.ts'
import type { Options } from './options.ts'
import type { Place } from './place.ts'
import { idAt, idsAt, type Json, objectAt, objectsAt } from './wire.ts'

export interface Me {
  readonly id: string
  isMyRole(id: string): boolean
}

/** Whether the bot listens in this place at all. */
export function listensIn(place: Place, { allowedChannels, ignoredChannels }: Options): boolean {
  if (place.kind === 'dm') return true
  if (lists(ignoredChannels, place)) return false
  return allowedChannels.length === 0 || lists(allowedChannels, place)
}

/** Whether the message wants an answer of ours. */
export function isForUs(message: Json, place: Place, me: Me, options: Options): boolean {
  if (!listensIn(place, options)) return false
  const called = mentions(message, me) || repliesTo(message, me)
  if (isBotMessage(message) && options.allowBots !== 'all') return options.allowBots === 'mentions' && called
  if (place.kind === 'dm' || called || !options.requireMention) return true
  return lists(options.freeResponseChannels, place) || isOurThread(place, me)
}

/**
 * Whether the answer opens a thread. Replies stay where they are said, commands are about the channel, and a place where
 * everything is answered would be full of threads.
 */
export function opensThread(message: Json, place: Place, me: Me, options: Options, command: boolean): boolean {
  if (!options.autoThread || command || place.kind !== 'group') return false
  if (place.type !== channelTypes.text && place.type !== channelTypes.announcement) return false
  if (objectAt(message, 'message_reference') !== undefined || !mentions(message, me)) return false
  return !lists(options.noThreadChannels, place) && !lists(options.freeResponseChannels, place)
}

/** The bot opened it or was taken into it: whoever writes there writes to the bot. */
function isOurThread(place: Place, me: Me): boolean {
  return place.kind === 'thread' && (place.joined || place.ownerId === me.id)
}

/** `@everyone` is nobody in particular. */
function mentions(message: Json, me: Me): boolean {
  return (
    objectsAt(message, 'mentions').some((user) => idAt(user, 'id') === me.id) ||
    idsAt(message, 'mention_roles').some((role) => me.isMyRole(role))
  )
}

function repliesTo(message: Json, me: Me): boolean {
  return idAt(objectAt(objectAt(message, 'referenced_message'), 'author'), 'id') === me.id
}

function lists(list: readonly string[], { listedAs }: Place): boolean {
  return list.includes('*') || listedAs.some((id) => list.includes(id))
}
