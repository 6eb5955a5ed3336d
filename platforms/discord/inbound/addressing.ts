/**
 * Whether a message is addressed to the bot, and whether its response opens a thread. Pure.
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

/** Whether the options let the bot respond in this channel. */
export function isChannelAllowed(
  channel: ChannelContext,
  { allowedChannels, ignoredChannels }: DiscordOptions,
): boolean {
  if (channel.kind === 'dm') return true
  if (listIncludes(ignoredChannels, channel)) return false
  return allowedChannels.length === 0 || listIncludes(allowedChannels, channel)
}

/** Whether the bot responds to the message. */
export function isAddressedToBot(
  message: JsonRecord,
  channel: ChannelContext,
  me: BotIdentity,
  options: DiscordOptions,
): boolean {
  if (!isChannelAllowed(channel, options)) return false
  const isCalled = mentionsBot(message, me) || repliesToBot(message, me)
  if (isBotMessage(message) && options.allowBots !== 'all') return options.allowBots === 'mentions' && isCalled
  if (channel.kind === 'dm' || isCalled || !options.requireMention) return true
  return listIncludes(options.freeResponseChannels, channel) || isBotThread(channel, me)
}

/**
 * Whether the response opens a thread. Replies are answered in channel, commands concern the channel, and a channel in which
 * the bot responds to every message would fill with threads.
 */
export function opensThread(
  message: JsonRecord,
  channel: ChannelContext,
  me: BotIdentity,
  options: DiscordOptions,
  command: boolean,
): boolean {
  if (!options.autoThread || command || channel.kind !== 'group') return false
  if (channel.type !== channelTypes.text && channel.type !== channelTypes.announcement) return false
  if (recordAt(message, 'message_reference') !== undefined || !mentionsBot(message, me)) return false
  return !listIncludes(options.noThreadChannels, channel) && !listIncludes(options.freeResponseChannels, channel)
}

/** A mention where other messages do not reach the bot. The agent does not know what was said before it. */
export function startsConversation(
  message: JsonRecord,
  channel: ChannelContext,
  me: BotIdentity,
  { requireMention, freeResponseChannels }: DiscordOptions,
): boolean {
  if (channel.kind === 'dm' || !requireMention || listIncludes(freeResponseChannels, channel)) return false
  return mentionsBot(message, me) && !isBotThread(channel, me)
}

/** In a thread that the bot opened or was added to, every message is addressed to the bot. */
function isBotThread(channel: ChannelContext, me: BotIdentity): boolean {
  return channel.kind === 'thread' && (channel.joined || channel.ownerId === me.id)
}

/** `@everyone` does not count as a mention of the bot. */
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
