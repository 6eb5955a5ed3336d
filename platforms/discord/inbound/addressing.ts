/**
 * Whom a message is for, and whether its answer gets a thread of its own. Pure.
 */

import type { DiscordOptions } from '../options.ts'
import { isBotMessage } from './content.ts'
import { channelTypes } from './guild-cache.ts'
import { idAt, idsAt, type JsonRecord, recordAt, recordsAt } from './payload.ts'
import type { ChannelContext } from './source.ts'

export interface BotIdentity {
  readonly id: string
  isOwnRole(id: string): boolean
}

/** Whether the bot listens in this place at all. */
export function isChannelAllowed(place: ChannelContext, { allowedChannels, ignoredChannels }: DiscordOptions): boolean {
  if (place.kind === 'dm') return true
  if (listIncludes(ignoredChannels, place)) return false
  return allowedChannels.length === 0 || listIncludes(allowedChannels, place)
}

/** Whether the message wants an answer of ours. */
export function isAddressedToBot(
  message: JsonRecord,
  place: ChannelContext,
  me: BotIdentity,
  options: DiscordOptions,
): boolean {
  if (!isChannelAllowed(place, options)) return false
  const called = mentionsBot(message, me) || repliesToBot(message, me)
  if (isBotMessage(message) && options.allowBots !== 'all') return options.allowBots === 'mentions' && called
  if (place.kind === 'dm' || called || !options.requireMention) return true
  return listIncludes(options.freeResponseChannels, place) || isBotThread(place, me)
}

/**
 * Whether the answer opens a thread. Replies stay where they are said, commands are about the channel, and a place where
 * everything is answered would be full of threads.
 */
export function opensThread(
  message: JsonRecord,
  place: ChannelContext,
  me: BotIdentity,
  options: DiscordOptions,
  command: boolean,
): boolean {
  if (!options.autoThread || command || place.kind !== 'group') return false
  if (place.type !== channelTypes.text && place.type !== channelTypes.announcement) return false
  if (recordAt(message, 'message_reference') !== undefined || !mentionsBot(message, me)) return false
  return !listIncludes(options.noThreadChannels, place) && !listIncludes(options.freeResponseChannels, place)
}

/** The bot opened it or was taken into it: whoever writes there writes to the bot. */
function isBotThread(place: ChannelContext, me: BotIdentity): boolean {
  return place.kind === 'thread' && (place.joined || place.ownerId === me.id)
}

/** `@everyone` is nobody in particular. */
function mentionsBot(message: JsonRecord, me: BotIdentity): boolean {
  return (
    recordsAt(message, 'mentions').some((user) => idAt(user, 'id') === me.id) ||
    idsAt(message, 'mention_roles').some((role) => me.isOwnRole(role))
  )
}

function repliesToBot(message: JsonRecord, me: BotIdentity): boolean {
  return idAt(recordAt(recordAt(message, 'referenced_message'), 'author'), 'id') === me.id
}

function listIncludes(list: readonly string[], { configIds }: ChannelContext): boolean {
  return list.includes('*') || configIds.some((id) => list.includes(id))
}
