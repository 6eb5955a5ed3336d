/**
 * Calls to a platform: how long one may take, and the calls that are not stored: typing indicators and the calls that
 * adapters make themselves.
 */
import { messageOf } from '../lib/errors.ts'
import { linkAbortSignal, raceAbort } from '../lib/timers.ts'
import type { SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { OutboxContext, Sender } from './context.ts'
import { chatOf } from './queries.ts'

/** A call without a response must not block its chat for ever. */
const callTimeoutMs = 120_000
/** Replies wait for a call of an adapter, so it gets less time than a reply. */
const adapterCallTimeoutMs = 15_000
/** Replies wait for a typing call, too. */
const typingTimeoutMs = 2_000

/**
 * Calls a platform. Rejects as the call does, after `timeoutMs`, or when the signal aborts. It is then unknown whether the
 * platform has executed the call; a late response is ignored.
 */
export async function callWithTimeout<T>(
  abortSignal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
  timeoutMs = callTimeoutMs,
): Promise<T> {
  if (abortSignal.aborted) throw new Error('stopped before the platform was called')
  const linked = linkAbortSignal(abortSignal)
  const timer = setTimeout(() => linked.abort(new Error('the platform did not answer in time')), timeoutMs)
  try {
    return await raceAbort(call(linked.signal), linked.signal)
  } finally {
    clearTimeout(timer)
    linked.release()
  }
}

export type RateLimitedCall = (signal: AbortSignal) => Promise<SendResult>

/**
 * Makes a call of an adapter (a reaction, a deletion) within the limits of its chat and account. Rejects when the signal
 * aborts or the gateway stops before the platform responds, on timeout, and as the call itself does.
 */
export async function callRateLimited(
  context: OutboxContext,
  target: Target,
  signal: AbortSignal,
  call: RateLimitedCall,
): Promise<SendResult> {
  const chat = chatOf(target)
  const linked = linkAbortSignal(signal, context.drainSignal)
  try {
    linked.signal.throwIfAborted()
    const permit =
      context.rateLimiter.tryAcquire(chat, 'own') ?? (await context.rateLimiter.acquire(chat, 'own', linked.signal))
    try {
      linked.signal.throwIfAborted()
      const result = await callWithTimeout(linked.signal, call, adapterCallTimeoutMs)
      permit?.record(result, context.clock())
      return result
    } finally {
      permit?.release()
    }
  } finally {
    linked.release()
  }
}

/** A reply that is ready earlier needs no typing indicator, which saves a call. */
const typingDelayMs = 250
/** Platforms hide the indicator after a few seconds. */
const typingRefreshMs = 2_000

/**
 * Shows a typing indicator until the signal aborts, except while `isPaused`, where the platform and the account's settings
 * allow it. Never rejects.
 */
export async function showTyping(
  context: OutboxContext,
  target: Target,
  signal: AbortSignal,
  isPaused: () => boolean = () => false,
): Promise<void> {
  if (!context.replyPolicy(target).typing) return
  const linked = linkAbortSignal(signal, context.drainSignal)
  try {
    await refreshTyping(context, target, { endSignal: linked.signal, isPaused })
  } finally {
    linked.release()
  }
}

async function refreshTyping(
  context: OutboxContext,
  target: Target,
  { endSignal, isPaused }: { readonly endSignal: AbortSignal; isPaused(): boolean },
): Promise<void> {
  const chat = chatOf(target)
  let warned = false
  for (let waitMs = typingDelayMs; !endSignal.aborted; waitMs = typingRefreshMs) {
    if (cannotType(context.availableSender(chat))) return
    await context.sleep(waitMs, endSignal)
    if (endSignal.aborted) return
    if (isPaused()) continue
    const sender = context.availableSender(chat)
    const type = sender?.typing?.bind(sender)
    if (cannotType(sender)) return
    // A user learns more from any other call in flight than from the indicator.
    const permit = type === undefined ? undefined : context.rateLimiter.tryAcquire(chat, 'typing')
    try {
      // The end of the turn does not abort it: the reply waits for this call, so that no indicator appears after it.
      if (type !== undefined && permit !== undefined) {
        permit.record(
          await callWithTimeout(context.drainSignal, (callSignal) => type(target, callSignal), typingTimeoutMs),
          context.clock(),
        )
      }
    } catch (error) {
      if (!warned && !endSignal.aborted)
        context.log.debug(
          { event: 'outbox.typing_failed', ...chat, err: error },
          `cannot show typing: ${messageOf(error)}`,
        )
      warned = true
    } finally {
      permit?.release()
    }
  }
}

/** Whether a connected platform has no typing indicator. A disconnected platform may come back. */
function cannotType(sender: Sender | undefined): boolean {
  return sender !== undefined && sender.typing === undefined
}
