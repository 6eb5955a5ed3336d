/**
 * Searches the newest messages of a channel for one whose response was lost.
 */
import type { OutboundMessage } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { codeOf, describeError } from '../errors.ts'
import { idAt, isRecord, type JsonRecord, recordAt, textAt } from '../inbound/payload.ts'
import { renderMessage } from './render.ts'

/** How many messages are searched for one whose response was lost. */
const maxLookback = 100
/** The default of `streaming.cursor`. Only drafts end with it. */
const draftCursor = '▉'
/** Drafts of other conversations in the same chat may follow it. */
const ownMessagesCompared = 5
const unknownChannelCode = 10003
const missingAccessCode = 50001

/** The functions reject, with a sentence for users, when Discord cannot be asked. */
export function createSentMessageSearch({ api, options, guildCache }: DiscordAccount) {
  return { findDraft, findInChannel }

  function isFromBot(message: JsonRecord): boolean {
    return idAt(recordAt(message, 'author'), 'id') === guildCache.botUser()?.id
  }

  /** The newest unfinished draft that refers to the same question. */
  async function findDraft(
    channelId: string,
    { replyTo, text }: OutboundMessage,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (replyTo === undefined || !text.endsWith(draftCursor)) return undefined
    const match = (await newestMessages(channelId, signal)).find(
      (message) =>
        isFromBot(message) &&
        idAt(recordAt(message, 'message_reference'), 'message_id') === replyTo &&
        textAt(message, 'content')?.endsWith(draftCursor) === true,
    )
    return match === undefined ? undefined : idAt(match, 'id')
  }

  /**
   * Returns the id of the message; 'unsure' when one of the bot's newest messages has the same text, or when none of the
   * searched messages is from the bot. Messages of one chat are sent in sequence, so none follows one whose response was lost.
   */
  async function findInChannel(
    channelId: string,
    message: OutboundMessage,
    nonce: string,
    signal: AbortSignal,
  ): Promise<string | 'unsure' | undefined> {
    const recent = await newestMessages(channelId, signal)
    const ownMessages = recent.filter(isFromBot)
    const match = ownMessages.find((message) => textAt(message, 'nonce') === nonce)
    if (match !== undefined) return idAt(match, 'id')
    const content = textAt(await renderMessage(message, channelId, options.allowedMentions), 'content')?.trim()
    const isAlike = ownMessages.slice(0, ownMessagesCompared).some((message) => {
      return message['nonce'] === undefined && textAt(message, 'content')?.trim() === content
    })
    return isAlike || (ownMessages.length === 0 && recent.length >= maxLookback) ? 'unsure' : undefined
  }

  async function newestMessages(channelId: string, signal: AbortSignal): Promise<readonly JsonRecord[]> {
    try {
      const messages = await api.newestMessages(channelId, maxLookback, signal)
      return Array.isArray(messages) ? messages.filter(isRecord) : []
    } catch (error) {
      const code = codeOf(error)
      // The thread was never opened, or the bot has no access to the channel and cannot have written there.
      if (code === unknownChannelCode || code === missingAccessCode) return []
      throw lookupError(error)
    }
  }
}

export function lookupError(error: unknown): Error {
  return new Error(`it could not be checked whether the message was sent: ${describeError(error)}`, { cause: error })
}
