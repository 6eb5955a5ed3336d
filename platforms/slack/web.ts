/**
 * Calls of Slack's Web API as data: an answer or a failure, never a throw; none before the time that Slack asked to wait.
 */
import { follow, type SendResult } from '#sdk'
import { type Failure, failureOf } from './errors.ts'
import { type Fields, fieldsOf, textIn, tsIn } from './payload.ts'

/** One call over the network. Rejects as the SDK does, and when the signal aborts. */
export type ApiCall = (method: string, args: Fields, signal: AbortSignal) => Promise<unknown>

export type Answer = { readonly ok: true; readonly data: Fields } | { readonly ok: false; readonly failure: Failure }

/** A call that is bounded in time. */
export type SlackCall = (method: string, args: Fields, signal: AbortSignal) => Promise<Answer>

export interface WebDeps {
  readonly call: ApiCall
  readonly clock: () => number
  /** Aborts when the adapter ends: every call ends then. */
  readonly ended: AbortSignal
  /** The token is not accepted, whatever was asked. */
  onRefused?(error: string): void
}

/** Longer than Slack ever takes; a server that has gone silent must not hold up a chat. */
const callLimitMs = 20_000
/** Where Slack limits the rate without saying for how long. */
const defaultRetryMs = 5_000

export function createWeb({ call, clock, ended, onRefused }: WebDeps): SlackCall {
  /** Until when a method (for posts: in a channel) may not be called, ms. */
  const holds = new Map<string, number>()

  return async (method, args, signal) => {
    const key = method === 'chat.postMessage' ? `${method} ${textIn(args, 'channel') ?? ''}` : method
    const waitMs = (holds.get(key) ?? 0) - clock()
    if (waitMs > 0) return held(method, waitMs)
    holds.delete(key)
    if (ended.aborted || signal.aborted) return calledOff(method)
    try {
      return { ok: true, data: fieldsOf(await bounded(method, args, signal)) }
    } catch (thrown) {
      const failure = failureOf(thrown, method)
      if (failure.problem === 'unauthorised') onRefused?.(failure.error)
      if (failure.problem === 'rate-limited') holds.set(key, clock() + (failure.retryAfterMs ?? defaultRetryMs))
      return { ok: false, failure }
    }
  }

  async function bounded(method: string, args: Fields, signal: AbortSignal): Promise<unknown> {
    const limit = follow(signal, ended)
    const timer = setTimeout(limit.abort, callLimitMs)
    try {
      return await call(method, args, limit.signal)
    } finally {
      clearTimeout(timer)
      limit.release()
    }
  }
}

function held(method: string, waitMs: number): Answer {
  const error = `Slack limits the rate of ${method}`
  return { ok: false, failure: { problem: 'rate-limited', error, retryAfterMs: waitMs, scope: 'chat' } }
}

function calledOff(method: string): Answer {
  return { ok: false, failure: { problem: 'temporary', error: `${method} was called off` } }
}

export function resultOf({ problem, error, retryAfterMs, scope, maybeSent }: Failure): SendResult {
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
export function sentAs(answer: Answer, ts?: string): SendResult {
  if (!answer.ok) return resultOf(answer.failure)
  const messageId = tsIn(answer.data) ?? ts
  return { success: true, ...(messageId === undefined ? {} : { messageId }) }
}
