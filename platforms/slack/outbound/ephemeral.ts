/**
 * Messages that only one user sees.
 */
import { type SessionSource, targetOf } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { toSendResult } from '../errors.ts'
import { renderPlainText } from './render.ts'

/** Sends a text that only the author of `source` sees. Never rejects. */
export async function sendEphemeral(
  { call, context, stopping }: SlackAccount,
  source: SessionSource,
  text: string,
): Promise<void> {
  const { chatId: channel, threadId, userId } = source
  if (userId === undefined) return
  try {
    await context.rateLimited(targetOf(source), stopping.signal, async (signal) => {
      const args = { channel, user: userId, text: renderPlainText(text), thread_ts: threadId }
      const result = await call('chat.postEphemeral', args, signal)
      if (result.ok) return { success: true }
      context.log.debug({ event: 'slack.ephemeral_failed', reason: result.failure.error }, 'ephemeral message failed')
      return toSendResult(result.failure)
    })
  } catch (error) {
    context.log.debug({ event: 'slack.ephemeral_failed', err: error }, 'ephemeral message failed')
  }
}

/** The response to a slash command. */
export function ephemeralResponse(text: string): { readonly response_type: 'ephemeral'; readonly text: string } {
  return { response_type: 'ephemeral', text: renderPlainText(text) }
}
