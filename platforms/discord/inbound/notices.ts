/**
 * Messages of the gateway about messages that it did not read. They are sent in the background.
 */
import { type HermesError, messageOf, type OutboundMessage, type PlatformAdapter, targetOf } from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { isChannelAllowed } from './addressing.ts'
import type { InboundEvent } from './normalize.ts'
import { channelContextOf } from './source.ts'

export interface Notices {
  /** Tells the users of a channel that older messages are not read. */
  reportSkipped(channel: string, skipped: string, limit: number): void
  /** Tells the author of a message, because another attempt cannot succeed. */
  reportTooLarge(inbound: Extract<InboundEvent, { kind: 'message' }>, error: HermesError): void
}

export function createNotices(
  { context, options, guildCache, stopping }: DiscordAccount,
  send: PlatformAdapter['send'],
): Notices {
  const { platform, account, rateLimited, log } = context

  return {
    reportSkipped(channel, skipped, limit) {
      const location = channelContextOf({ channel_id: channel }, guildCache.channel(channel))
      if (location === undefined || !isChannelAllowed(location, options)) return
      const text =
        `I was not connected, and more than ${limit} messages were written here in the meantime. ` +
        `I read the newest ${limit}; please send older ones again if they still matter.`
      const target = targetOf({ platform, account, ...location.source })
      void sendNotice({ deliveryId: `dc:${skipped}:skipped`, target, text, kind: 'notice' })
    },
    reportTooLarge({ event, keys }, error) {
      const { prospectiveThreadId: _belongsToTheReply, ...source } = event.source
      const text = `${error.message} ${error.hint}`
      const deliveryId = `${keys[0]}:too-large`
      void sendNotice({ deliveryId, target: targetOf(source), text, kind: 'notice', replyTo: event.messageId })
    },
  }

  /** Never rejects. */
  async function sendNotice(notice: OutboundMessage): Promise<void> {
    try {
      const result = await rateLimited(notice.target, stopping.signal, (signal) => send(notice, signal))
      if (!result.success) log.warn({ event: 'discord.notice_failed', reason: result.error }, 'a notice was not sent')
    } catch (error) {
      log.debug({ event: 'discord.notice_failed', reason: messageOf(error) }, 'a notice was not sent')
    }
  }
}
