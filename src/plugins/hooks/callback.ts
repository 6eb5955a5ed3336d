/**
 * One callback of a plugin: called in isolation, for a bounded time, and left alone for a while when it takes too long.
 */
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import { withTimeout } from '../../lib/timers.ts'
import { deepCopy } from './lazy-copy.ts'

/**
 * A callback as it is kept. Declared by way of a method, so that callbacks of every payload fit: which hook a callback
 * belongs to is checked where it is registered.
 */
export type AnyCallback = { call(payload: object): unknown }['call']

export interface CallbackDeps {
  readonly owner: string
  /** What it is called for: the hook's name. */
  readonly point: string
  readonly callback: AnyCallback
  /** 0: it is never given up. */
  timeoutMs(): number
  readonly now: () => number
  /** Resolves after `ms`, or when the signal aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
}

/** `why` ends the sentence "it did not answer: …". */
export type CallbackResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

export interface CallbackReport {
  readonly owner: string
  readonly point: string
  readonly calls: number
  readonly failures: number
  /** It was not called because it had just taken too long. */
  readonly skipped: number
  /** Calls that were given up and have not ended. */
  readonly abandoned: number
  readonly lastError: { readonly at: number; readonly text: string } | null
}

export interface Callback {
  readonly owner: string
  readonly point: string
  /** Synchronous callbacks have run when this returns. Never throws, never rejects. */
  call(payload: object): Promise<CallbackResult>
  report(): CallbackReport
}

/** After a call that took too long. */
const cooldownMs = 60_000
const maxAbandoned = 3
/** Different failures that are remembered, to be told loudly only once. */
const maxRememberedErrors = 50

export function createCallback(deps: CallbackDeps): Callback {
  const { owner, point, callback, now, sleep, log } = deps
  const warned = createLruCache<true>(maxRememberedErrors)
  let calls = 0
  let failures = 0
  let skipped = 0
  let abandoned = 0
  let cooldownUntil = 0
  let lastError: CallbackReport['lastError'] = null

  function fail(reason: string, text: string, payload: object, error?: unknown): CallbackResult {
    failures += 1
    lastError = { at: now(), text }
    const level = warned.has(text) ? 'debug' : 'warn'
    warned.set(text, true)
    const fields = { plugin: owner, hook: point, fields: Object.keys(payload) }
    log[level](error === undefined ? fields : { ...fields, error }, `plugin ${owner} failed at ${point}: ${text}`)
    return { ok: false, reason }
  }

  function abandon(work: Promise<unknown>, ms: number, payload: object): CallbackResult {
    abandoned += 1
    cooldownUntil = now() + cooldownMs
    void work
      .catch((error: unknown) =>
        log.debug(
          { plugin: owner, hook: point, error },
          `plugin ${owner} failed long after it was given up at ${point}`,
        ),
      )
      .finally(() => {
        abandoned -= 1
      })
    const text = `it took longer than ${ms} ms; it is left out for ${cooldownMs / 1_000} s`
    return fail(`it took longer than ${ms} ms`, text, payload)
  }

  async function awaitResult(answer: unknown, payload: object): Promise<CallbackResult> {
    const work = Promise.resolve(answer)
    const limitMs = deps.timeoutMs()
    try {
      if (limitMs === 0) return succeed(await work)
      const outcome = await withTimeout(work, limitMs, undefined, sleep)
      return outcome.done ? succeed(outcome.value) : abandon(work, limitMs, payload)
    } catch (error) {
      return fail('it failed', messageOf(error), payload, error)
    }
  }

  return {
    owner,
    point,
    async call(payload) {
      const reason = skipReason()
      if (reason !== undefined) {
        skipped += 1
        return { ok: false, reason }
      }
      calls += 1
      try {
        const answer = callback(payload)
        return isPromise(answer) ? await awaitResult(answer, payload) : succeed(answer)
      } catch (error) {
        return fail('it failed', messageOf(error), payload, error)
      }
    },
    report: () => ({ owner, point, calls, failures, skipped, abandoned, lastError }),
  }

  function skipReason(): string | undefined {
    if (now() < cooldownUntil) return 'it took too long a moment ago'
    return abandoned >= maxAbandoned ? `${maxAbandoned} earlier calls of it have not ended` : undefined
  }
}

/** A copy: reading it can fail only here, and what the callback does to its own afterwards changes nothing. */
function succeed(answer: unknown): CallbackResult {
  return { ok: true, value: deepCopy(answer) }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
