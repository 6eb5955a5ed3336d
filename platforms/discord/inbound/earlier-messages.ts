/**
 * Adds the messages that precede the first mention in a channel or thread, so that the agent knows what the mention is
 * about. Only with `context_messages`, because their authors need not be on an allow list.
 */
import { createLruCache, type EarlierMessage, formatEarlierMessages, linkAbortSignal, type MessageEvent } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { describeError } from '../errors.ts'
import { attachmentsOf, messageText, type NameResolver, nameOf } from './content.ts'
import { isRecord, type JsonRecord, recordAt } from './payload.ts'

/** Adds the messages before an event in its channel. Never rejects: without them the message can still be answered. */
export type AddEarlierMessages = (event: MessageEvent, channel: string, names: NameResolver) => Promise<MessageEvent>

/** The messages of the channel wait meanwhile. */
const readTimeoutMs = 3_000
const maxConversations = 1_000

export function createEarlierMessages(account: DiscordAccount): AddEarlierMessages {
  const { options, context } = account
  /** By conversation: the message with which its earlier messages were read. The gateway uses them for a new session only. */
  const firstMessages = createLruCache<string>(maxConversations)
  return async (event, channel, names) => {
    const { messageId } = event
    const key = conversationOf(event)
    // An event that could not be stored is ingested again.
    if (options.contextMessages === 0 || messageId === undefined) return event
    if ((firstMessages.get(key) ?? messageId) !== messageId) return event
    try {
      const messages = await readBefore(account, channel, messageId)
      firstMessages.set(key, messageId)
      const lines = formatEarlierMessages(messages.map((message) => toEarlierMessage(message, names)))
      if (lines.length === 0) return event
      const content = `Said in this channel before:\n${lines.join('\n')}`
      return { ...event, seed: { messages: [{ role: 'user', content }] } }
    } catch (error) {
      context.log.info(
        { event: 'discord.context_failed', channel, reason: describeError(error) },
        'messages before a mention cannot be read',
      )
      return event
    }
  }
}

/** In a channel each user has a session, in a thread all users share one. */
function conversationOf({ source }: MessageEvent): string {
  const { chatId, threadId, prospectiveThreadId, userId = '' } = source
  return `${chatId}:${prospectiveThreadId ?? threadId ?? userId}`
}

/** Oldest first. */
async function readBefore(
  { api, options, stopping }: DiscordAccount,
  channel: string,
  messageId: string,
): Promise<readonly JsonRecord[]> {
  const deadline = linkAbortSignal(stopping.signal)
  const timer = setTimeout(deadline.abort, readTimeoutMs)
  try {
    const response = await api.newestMessages(channel, options.contextMessages, deadline.signal, messageId)
    return Array.isArray(response) ? response.filter(isRecord).toReversed() : []
  } finally {
    clearTimeout(timer)
    deadline.release()
  }
}

function toEarlierMessage(message: JsonRecord, names: NameResolver): EarlierMessage {
  return {
    author: nameOf(recordAt(message, 'author'), recordAt(message, 'member')) ?? 'unknown user',
    text: messageText(message, names),
    attachments: attachmentsOf(message),
  }
}
