/**
 * Calls of Slack's Web API. They return a result or a failure and never throw. A rate-limited method is not called before
 * its time.
 */
import { linkAbortSignal, type SendResult } from '#sdk'
import { type CallFailure, toCallFailure, toSendResult } from '../errors.ts'
import { asRecord, type JsonRecord, textAt, tsAt } from '../inbound/payload.ts'

/** One network call. Rejects with an error of the SDK, or when the signal aborts. */
export type RawApiCall = (method: string, args: JsonRecord, signal: AbortSignal) => Promise<unknown>

export type CallResult =
  | { readonly ok: true; readonly data: JsonRecord }
  | { readonly ok: false; readonly failure: CallFailure }

/** A call with a time limit. Never rejects. */
export type ApiCall = (method: string, args: JsonRecord, signal: AbortSignal) => Promise<CallResult>

/** Longer than any call takes. A dead connection must not block a chat. */
const callTimeoutMs = 20_000
/** Used when Slack does not send a duration. */
const defaultRetryAfterMs = 5_000

/**
 * @param stopping aborts when the adapter stops, and with it every call
 * @param onRefused called when Slack rejects the token
 */
export function createApi(
  call: RawApiCall,
  clock: () => number,
  stopping: AbortSignal,
  onRefused?: (error: string) => void,
): ApiCall {
  /** The time until which a method (for posts: in a channel) is rate-limited. */
  const limitedUntil = new Map<string, number>()

  return async (method, args, signal) => {
    const key = method === 'chat.postMessage' ? `${method} ${textAt(args, 'channel') ?? ''}` : method
    const waitMs = (limitedUntil.get(key) ?? 0) - clock()
    if (waitMs > 0) return rateLimitedResult(method, waitMs)
    limitedUntil.delete(key)
    if (stopping.aborted || signal.aborted) return abortedResult(method)
    try {
      return { ok: true, data: asRecord(await callWithTimeout(method, args, signal)) }
    } catch (thrown) {
      const failure = toCallFailure(thrown, method)
      if (failure.problem === 'unauthorised') onRefused?.(failure.error)
      if (failure.problem === 'rate-limited')
        limitedUntil.set(key, clock() + (failure.retryAfterMs ?? defaultRetryAfterMs))
      return { ok: false, failure }
    }
  }

  async function callWithTimeout(method: string, args: JsonRecord, signal: AbortSignal): Promise<unknown> {
    const limit = linkAbortSignal(signal, stopping)
    const timer = setTimeout(limit.abort, callTimeoutMs)
    try {
      return await call(method, args, limit.signal)
    } finally {
      clearTimeout(timer)
      limit.release()
    }
  }
}

function rateLimitedResult(method: string, waitMs: number): CallResult {
  const error = `Slack limits the rate of ${method}`
  return { ok: false, failure: { problem: 'rate-limited', error, retryAfterMs: waitMs, scope: 'chat' } }
}

function abortedResult(method: string): CallResult {
  return { ok: false, failure: { problem: 'temporary', error: `${method} was aborted` } }
}

/** The result of a post or an edit. `ts` is used when Slack returns no id. */
export function toPostResult(result: CallResult, ts?: string): SendResult {
  if (!result.ok) return toSendResult(result.failure)
  return { success: true, messageId: tsAt(result.data) ?? ts }
}
