/**
 * Tells the people in a channel or thread that messages of an outage were skipped.
 */
import type { PlatformAdapter, PlatformContext, SendResult, Target } from '#sdk'
import { type Place, placeKeyOf } from '../inbound/catch-up-targets.ts'

const maxAttempts = 3

/** Never rejects. */
export async function reportSkipped(
  {
    context,
    send,
    signal: stopping,
  }: {
    readonly context: Pick<PlatformContext, 'platform' | 'account' | 'rateLimited' | 'log' | 'clock'>
    readonly send: PlatformAdapter['send']
    readonly signal: AbortSignal
  },
  place: Place,
  { read, skipped }: { readonly read: number; readonly skipped: number },
): Promise<void> {
  const { platform, account, log } = context
  const { channel, threadTs } = place
  const target: Target = {
    platform,
    account,
    chatId: channel,
    ...(threadTs === undefined ? {} : { threadId: threadTs }),
  }
  const deliveryId = `skipped:${placeKeyOf(place)}:${context.clock()}`
  const text = `While I was not connected, more messages were written here than I fetch: I read the newest ${read} and skipped ${skipped} older ones.`
  try {
    let result: SendResult
    let attempt = 0
    do {
      attempt += 1
      result = await context.rateLimited(target, stopping, (signal) =>
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
