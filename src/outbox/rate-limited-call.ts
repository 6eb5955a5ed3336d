/**
 * The adapters' own calls (a reaction, a deletion), made within the budget that answers, drafts and typing share.
 */
import { linkAbortSignal } from '../lib/linked-signal.ts'
import type { SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { OutboxContext } from './context.ts'
import { callWithTimeout, chatOf } from './sender.ts'

/** Answers wait for a call in flight. */
const callTimeoutMs = 15_000

export type RateLimitedCall = (signal: AbortSignal) => Promise<SendResult>

/**
 * Calls when it is the call's turn. Rejects when the signal aborts or the gateway stops before the platform has
 * answered, when the call takes too long, and as the call itself does.
 */
export async function callRateLimited(
  context: OutboxContext,
  target: Target,
  signal: AbortSignal,
  call: RateLimitedCall,
): Promise<SendResult> {
  const chat = chatOf(target)
  const ended = linkAbortSignal(signal, context.drainSignal)
  try {
    ended.signal.throwIfAborted()
    const permit =
      context.rateLimiter.tryAcquire(chat, 'own') ?? (await context.rateLimiter.acquire(chat, 'own', ended.signal))
    try {
      ended.signal.throwIfAborted()
      const result = await callWithTimeout(ended.signal, call, callTimeoutMs)
      permit?.record(result, context.clock())
      return result
    } finally {
      permit?.release()
    }
  } finally {
    ended.release()
  }
}
