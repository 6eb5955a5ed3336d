/**
 * Reads and accepts messages from the history of a channel.
 */
import { createLruCache, messageOf } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { acceptChange, acceptMessage, isStoreUnavailable, readPayload } from './accept.ts'
import { toEdit } from './changes.ts'
import type { NormalizeContext } from './context.ts'
import { messageLocationOf } from './message.ts'
import { type JsonRecord, recordAt, tsAt } from './payload.ts'
import { isDirectMessage } from './source.ts'

export interface StoredMessages {
  /**
   * Accepts a message. Resolves to whether it is new. Rejects when the store is unavailable. A message that fails for
   * another reason is skipped, so that it does not block the following ones.
   */
  accept(channel: string, message: JsonRecord): Promise<boolean>
  /** Whether the bot handles a message. Never rejects. */
  isForBot(channel: string, message: JsonRecord): Promise<boolean>
}

export function createStoredMessages(account: SlackAccount, normalizeContext: NormalizeContext): StoredMessages {
  const { log } = account.context
  /** Skipped messages, to log each of them once: after each interruption the newest messages are fetched again. */
  const skippedMessages = createLruCache<true>(200)

  return {
    async isForBot(channel, message) {
      const payload = toStoredPayload(normalizeContext, channel, message)
      return (await readPayload(payload, account, normalizeContext)).kind === 'message'
    },
    async accept(channel, message) {
      try {
        return await acceptStored(account, normalizeContext, channel, message)
      } catch (error) {
        if (isStoreUnavailable(error)) throw error
        const ts = tsAt(message) ?? ''
        const key = `${channel}:${ts}`
        if (skippedMessages.has(key)) return false
        skippedMessages.set(key, true)
        log.error(
          { event: 'slack.message_skipped', err: error, channel, ts },
          `missed message cannot be accepted and is skipped: ${messageOf(error)}`,
        )
        return false
      }
    },
  }
}

async function acceptStored(
  account: SlackAccount,
  normalizeContext: NormalizeContext,
  channel: string,
  message: JsonRecord,
): Promise<boolean> {
  const payload = toStoredPayload(normalizeContext, channel, message)
  await account.names.resolveMentions(payload)
  const incoming = await readPayload(payload, account, normalizeContext)
  if (incoming.kind !== 'message') return false
  const status = await acceptMessage(incoming, account, normalizeContext)
  const location = messageLocationOf(payload.event)
  const editedTs = tsAt(recordAt(message, 'edited'))
  if (status !== 'duplicate' || location === undefined || editedTs === undefined) return status === 'accepted'
  // The message was accepted before, and may have been edited during the outage.
  const edit = toEdit(payload.event, location, editedTs, normalizeContext)
  if (edit.kind === 'change') await acceptChange(edit, account.context)
  return false
}

/** The payload of the event by which Slack announced a message of the history. */
function toStoredPayload({ identity }: NormalizeContext, channel: string, message: JsonRecord) {
  const direct = isDirectMessage({ channel }) ? { channel_type: 'im' } : {}
  const event: JsonRecord = { ...message, ...direct, channel, type: 'message' }
  return { type: 'event_callback', team_id: identity.teamId, event }
}
