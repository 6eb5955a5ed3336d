/**
 * Tells the people in a channel or thread that messages of an outage were skipped.
 */
import type { PlatformAdapter, SendResult, Target } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { type Conversation, conversationKeyOf } from '../inbound/catch-up-targets.ts'

const maxAttempts = 3

/** Never rejects. */
export async function reportSkipped(
  { context, stopping }: SlackAccount,
  send: PlatformAdapter['send'],
  conversation: Conversation,
  { read, skipped }: { readonly read: number; readonly skipped: number },
): Promise<void> {
  const { platform, account, log } = context
  const { channel, threadTs } = conversation
  const target: Target = {
    platform,
    account,
    chatId: channel,
    threadId: threadTs,
  }
  const deliveryId = `skipped:${conversationKeyOf(conversation)}:${context.clock()}`
  const text = `While I was not connected, more messages were written here than I fetch: I read the newest ${read} and skipped ${skipped} older ones.`
  try {
    let result: SendResult
    let attempt = 0
    do {
      attempt += 1
      result = await context.rateLimited(target, stopping.signal, (signal) =>
        send({ deliveryId, target, text, kind: 'notice' }, signal),
      )
    } while (!result.success && result.problem === 'rate-limited' && attempt < maxAttempts)
    if (!result.success) {
      log.warn({ event: 'slack.notice_failed', channel, reason: result.error }, 'notice could not be sent')
    }
  } catch (error) {
    log.debug({ event: 'slack.notice_aborted', channel, err: error }, 'notice was not sent before the stop')
  }
}
