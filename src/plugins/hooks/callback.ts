/**
 * Calls one callback of a plugin in isolation and with a timeout. After a timeout the callback is skipped for a minute.
 */
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { withTimeout } from '../../lib/timers.ts'
import { createWarnOnce } from '../../lib/warn-once.ts'
import { deepCopy } from './lazy-copy.ts'

/**
 * A callback with any payload. Declared as a method, because methods are bivariant in their parameters: the registration
 * checks the payload type of each hook.
 */
export type AnyCallback = { call(payload: object): unknown }['call']

/** What all callbacks of plugins are limited and recorded with. */
export interface CallbackRuntime {
  readonly log: Logger
  readonly now: () => number
  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** `plugins.hook_callback_timeout`, ms; 0 for none. */
  timeoutMs(): number
}

/** `reason` is the end of a sentence such as "the plugin could not check this call (it failed)". */
export type CallbackResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

export interface CallbackReport {
  readonly owner: string
  readonly point: string
  readonly calls: number
  readonly failures: number
  /** Calls that were skipped after a timeout. */
  readonly skipped: number
  /** Calls that timed out and are still running. */
  readonly abandoned: number
  readonly lastError: { readonly at: number; readonly text: string } | null
}

export interface Callback {
  readonly owner: string
  readonly point: string
  /** A synchronous callback has run when this method returns. Never throws, never rejects. */
  call(payload: object): Promise<CallbackResult>
  report(): CallbackReport
}

/** How long a callback is skipped after a timeout. */
const cooldownMs = 60_000
const maxAbandoned = 3
/** Error texts to remember, so that each one is logged as a warning only once. */
const maxRememberedErrors = 50

/**
 * @param point the name of the hook or of the extension point
 * @param timeoutMs 0 for none
 */
export function createCallback(
  { log, now, sleep, timeoutMs: configuredTimeoutMs }: CallbackRuntime,
  owner: string,
  point: string,
  callback: AnyCallback,
  timeoutMs = configuredTimeoutMs,
): Callback {
  const warnOnce = createWarnOnce(log, maxRememberedErrors)
  let calls = 0
  let failures = 0
  let skipped = 0
  let abandoned = 0
  let cooldownUntil = 0
  let lastError: CallbackReport['lastError'] = null

  function fail(reason: string, text: string, payload: object, error?: unknown): CallbackResult {
    failures += 1
    lastError = { at: now(), text }
    const fields = {
      event: 'plugin.callback_failed',
      plugin: owner,
      hook: point,
      reason: text,
      keys: Object.keys(payload),
    }
    warnOnce(text, error === undefined ? fields : { ...fields, err: error }, 'a plugin callback failed')
    return { ok: false, reason }
  }

  function abandon(work: Promise<unknown>, ms: number, payload: object): CallbackResult {
    abandoned += 1
    cooldownUntil = now() + cooldownMs
    void work
      .catch((error: unknown) =>
        log.debug(
          { event: 'plugin.callback_failed_late', plugin: owner, hook: point, err: error },
          'a plugin callback failed after its timeout',
        ),
      )
      .finally(() => {
        abandoned -= 1
      })
    const text = `it took longer than ${ms} ms; it is skipped for ${cooldownMs / 1_000} s`
    return fail(`it took longer than ${ms} ms`, text, payload)
  }

  async function awaitResult(returned: unknown, payload: object): Promise<CallbackResult> {
    const work = Promise.resolve(returned)
    const limitMs = timeoutMs()
    try {
      if (limitMs === 0) return succeed(await work)
      const result = await withTimeout(work, limitMs, undefined, sleep)
      return result.done ? succeed(result.value) : abandon(work, limitMs, payload)
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
        const returned = callback(payload)
        return isPromise(returned) ? await awaitResult(returned, payload) : succeed(returned)
      } catch (error) {
        return fail('it failed', messageOf(error), payload, error)
      }
    },
    report: () => ({ owner, point, calls, failures, skipped, abandoned, lastError }),
  }

  function skipReason(): string | undefined {
    if (now() < cooldownUntil) return 'it timed out a short time ago'
    return abandoned >= maxAbandoned ? `${maxAbandoned} earlier calls are still running` : undefined
  }
}

/** Copies the value: errors of getters occur only here, and later changes by the plugin have no effect. */
function succeed(returned: unknown): CallbackResult {
  return { ok: true, value: deepCopy(returned) }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
