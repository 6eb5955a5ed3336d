/**
 * Calls of Slack's Web API as data: an answer or a failure, never a throw; none before the time that Slack asked to wait.
 */
import { linkAbortSignal, type SendResult } from '#sdk'
import { type CallFailure, toCallFailure } from '../errors.ts'
import { asRecord, type JsonRecord, textAt, tsAt } from '../inbound/payload.ts'

/** One call over the network. Rejects as the SDK does, and when the signal aborts. */
export type RawApiCall = (method: string, args: JsonRecord, signal: AbortSignal) => Promise<unknown>

export type CallResult =
  | { readonly ok: true; readonly data: JsonRecord }
  | { readonly ok: false; readonly failure: CallFailure }

/** A call that is bounded in time. */
export type ApiCall = (method: string, args: JsonRecord, signal: AbortSignal) => Promise<CallResult>

export interface ApiDeps {
  readonly call: RawApiCall
  readonly clock: () => number
  /** Aborts when the adapter ends: every call ends then. */
  readonly stopping: AbortSignal
  /** The token is not accepted, whatever was asked. */
  onRefused?(error: string): void
}

/** Longer than Slack ever takes; a server that has gone silent must not hold up a chat. */
const callTimeoutMs = 20_000
/** Where Slack limits the rate without saying for how long. */
const defaultRetryAfterMs = 5_000

export function createApi({ call, clock, stopping: ended, onRefused }: ApiDeps): ApiCall {
  /** Until when a method (for posts: in a channel) may not be called, ms. */
  const holds = new Map<string, number>()

  return async (method, args, signal) => {
    const key = method === 'chat.postMessage' ? `${method} ${textAt(args, 'channel') ?? ''}` : method
    const waitMs = (holds.get(key) ?? 0) - clock()
    if (waitMs > 0) return rateLimitedResult(method, waitMs)
    holds.delete(key)
    if (ended.aborted || signal.aborted) return abortedResult(method)
    try {
      return { ok: true, data: asRecord(await bounded(method, args, signal)) }
    } catch (thrown) {
      const failure = toCallFailure(thrown, method)
      if (failure.problem === 'unauthorised') onRefused?.(failure.error)
      if (failure.problem === 'rate-limited') holds.set(key, clock() + (failure.retryAfterMs ?? defaultRetryAfterMs))
      return { ok: false, failure }
    }
  }

  async function bounded(method: string, args: JsonRecord, signal: AbortSignal): Promise<unknown> {
    const limit = linkAbortSignal(signal, ended)
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
  return { ok: false, failure: { problem: 'temporary', error: `${method} was called off` } }
}

export function toSendResult({ problem, error, retryAfterMs, scope, maybeSent }: CallFailure): SendResult {
  return {
    success: false,
    problem,
    error,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(scope === undefined ? {} : { scope }),
    ...(maybeSent === undefined ? {} : { maybeSent }),
  }
}

/** What a post or an edit came to. `ts` stands for the message where Slack does not name it. */
export function toPostResult(answer: CallResult, ts?: string): SendResult {
  if (!answer.ok) return toSendResult(answer.failure)
  const messageId = tsAt(answer.data) ?? ts
  return { success: true, ...(messageId === undefined ? {} : { messageId }) }
}
