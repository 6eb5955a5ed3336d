/**
 * Shows that the agent is at work, for as long as it is.
 */
import { messageOf } from '../lib/errors.ts'
import { linkAbortSignal } from '../lib/linked-signal.ts'
import type { Target } from '../message/source.ts'
import type { OutboxContext } from './context.ts'
import { callWithTimeout, chatOf, type Sender } from './sender.ts'

/** Nobody misses it for so long, and an answer that is there by then has cost no call. */
const initialDelayMs = 250
/** Platforms forget it after a few seconds. */
const refreshMs = 2_000
/** An answer waits for a call in flight, so this one may not take long. */
const callTimeoutMs = 2_000

/** Resolves when the signal aborts, or at once where it cannot be shown or is not wanted. Never rejects. */
export async function showTyping(context: OutboxContext, target: Target, signal: AbortSignal): Promise<void> {
  if (!context.replyPolicy(target).typing) return
  const ended = linkAbortSignal(signal, context.drainSignal)
  try {
    await refresh(context, target, ended.signal)
  } finally {
    ended.release()
  }
}

async function refresh(context: OutboxContext, target: Target, endSignal: AbortSignal): Promise<void> {
  const chat = chatOf(target)
  let warned = false
  for (let waitMs = initialDelayMs; !endSignal.aborted; waitMs = refreshMs) {
    if (cannotType(context.availableSender(chat))) return
    await context.sleep(waitMs, endSignal)
    if (endSignal.aborted) return
    const sender = context.availableSender(chat)
    const type = sender?.typing?.bind(sender)
    if (cannotType(sender)) return
    // Whatever else is under way shows more than typing does.
    const permit = type === undefined ? undefined : context.rateLimiter.tryAcquire(chat, 'typing')
    try {
      // Not ended with the turn: the answer goes after it, so that no late typing stands below the answer.
      if (type !== undefined && permit !== undefined) {
        permit.record(
          await callWithTimeout(context.drainSignal, (call) => type(target, call), callTimeoutMs),
          context.clock(),
        )
      }
    } catch (error) {
      if (!warned && !endSignal.aborted)
        context.log.debug({ error, ...chat }, `cannot show typing: ${messageOf(error)}`)
      warned = true
    } finally {
      permit?.release()
    }
  }
}

/** Connected, and without that ability. One that is away is waited for. */
function cannotType(sender: Sender | undefined): boolean {
  return sender !== undefined && sender.typing === undefined
}
