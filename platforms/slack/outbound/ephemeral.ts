/**
 * Messages that only one user sees.
 */
import { type PlatformContext, type SessionSource, targetOf } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'
import { renderPlainText } from './render.ts'

/** Sends a text that only the author of `source` sees. Never rejects. */
export async function sendEphemeral(
  {
    call,
    context,
    signal: stopping,
  }: {
    readonly call: ApiCall
    readonly context: Pick<PlatformContext, 'rateLimited' | 'log'>
    readonly signal: AbortSignal
  },
  source: SessionSource,
  text: string,
): Promise<void> {
  const { chatId: channel, threadId, userId } = source
  if (userId === undefined) return
  const thread = threadId === undefined ? {} : { thread_ts: threadId }
  try {
    await context.rateLimited(targetOf(source), stopping, async (signal) => {
      const args = { channel, user: userId, text: renderPlainText(text), ...thread }
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
