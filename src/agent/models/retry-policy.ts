/**
 * Decides what follows a failed model call: another call after a pause, the wait for the end of an outage, or the failure of
 * the request. Pure; `request-model.ts` acts on it.
 */
import type { ModelError } from './provider.ts'

export interface RetryRules {
  /** Milliseconds after the first failure in which the call is retried. */
  readonly windowMs: number
  /** Retries after which the request fails, even if the window is not over; undefined without a limit. */
  readonly maxRetries: number | undefined
  /** The window while nothing listens at an address of this machine, if it is shorter than the other one. */
  readonly localRefusalWindowMs?: number
}

/** A program gets the error of a server that has not been started soon. It is enough time for a restart. */
export const unattendedLocalRefusalWindowMs = 15_000

export function retryRulesOf({
  retry_window,
  max_retries,
}: {
  readonly retry_window: number
  readonly max_retries?: number | undefined
}): RetryRules {
  return { windowMs: retry_window * 1_000, maxRetries: max_retries }
}

/** The failures of one request so far. */
export interface FailedCalls {
  /** Failed calls, at least 1. */
  readonly count: number
  /** The last calls that failed in the same way, at least 1. */
  readonly sameInRow: number
  /** When the first call failed, ms. */
  readonly since: number
  /** The turn has waited for the end of an outage, and no call has succeeded since then. */
  readonly isOutage: boolean
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** The failure is transient but lasts longer than the window. */
  | { readonly kind: 'outage' }
  | { readonly kind: 'fail' }

export function decideRetry(
  failure: ModelError,
  failed: FailedCalls,
  rules: RetryRules,
  now: number,
  random: () => number,
): RetryDecision {
  const { maxTries, retryAfterMs } = failure
  if (failed.sameInRow >= maxTries) return { kind: 'fail' }
  if (rules.maxRetries !== undefined && failed.count > rules.maxRetries) return { kind: 'fail' }
  // Each attempt of a turn that waits makes one call: the pauses between the attempts are the retries.
  if (failed.isOutage) return { kind: 'outage' }
  const windowMs = windowFor(failure, rules)
  const leftMs = failed.since + windowMs - now
  const shortestMs = Math.min(minPauseMs, windowMs / pausesPerWindow)
  if (leftMs <= 0 || leftMs < shortestMs) return afterWindow(failure)
  if (retryAfterMs !== undefined) {
    const waitMs = Math.max(retryAfterMs, shortestMs)
    return waitMs <= leftMs ? { kind: 'retry', waitMs } : afterWindow(failure)
  }
  // The last retry is made at the end of the window.
  return { kind: 'retry', waitMs: Math.ceil(Math.min(pauseMs(failure, failed, windowMs, random), leftMs)) }
}

/** How long a request is retried after its first failure, ms. */
export function windowFor({ isLocalRefusal }: ModelError, { windowMs, localRefusalWindowMs }: RetryRules): number {
  return isLocalRefusal ? Math.min(windowMs, localRefusalWindowMs ?? windowMs) : windowMs
}

/** A failure that becomes permanent by repetition says something about the server's configuration, not about its load. */
function afterWindow({ maxTries }: ModelError): RetryDecision {
  return { kind: Number.isFinite(maxTries) ? 'fail' : 'outage' }
}

const minPauseMs = 250
/** The longest pause is this part of the window: 15 s by default. */
const pausesPerWindow = 8

/** Full jitter between a growing floor and a growing ceiling, so that many turns do not call at the same time. */
function pauseMs({ maxTries }: ModelError, failed: FailedCalls, windowMs: number, random: () => number): number {
  // The few tries of a response that cannot be used are spread over the time that a restart of a server takes.
  if (Number.isFinite(maxTries) && failed.sameInRow > 1) return (windowMs / 15) * (1 + random() / 4)
  const ceiling = Math.min(windowMs / pausesPerWindow, 1_000 * 2 ** Math.min(failed.count - 1, 30))
  return ceiling * (1 / 4 + (3 / 4) * random())
}

/** Trouble of this length is reported to the user: 15 s by default, and less with a short window. */
export function noticeDelayMs({ windowMs }: RetryRules): number {
  return Math.min(15_000, windowMs / pausesPerWindow)
}
