/**
 * Statistics of one hook, and the circuit breaker that trips after repeated failures.
 */
import type { HandlerResult } from './handler-result.ts'

export interface HookCounts {
  /** Number of calls. */
  readonly fired: number
  readonly failed: number
  /** Events that were not delivered because the queue was full or the hook was disabled. */
  readonly dropped: number
  /** How often the hook crashed its host, or may have crashed it. */
  readonly kills: number
  /** Mean duration of the last calls in ms; null before the first call. */
  readonly meanMs: number | null
  readonly p99Ms: number | null
  readonly lastError: { readonly at: number; readonly event: string; readonly text: string } | null
}

export interface HookHealth {
  /** Sorts the durations, so it must not be called for each event. */
  counts(): HookCounts
  /** Why the hook is disabled after repeated failures; `undefined` if it is not. */
  trippedReason(): string | undefined
  /** Why the hook cannot be loaded; `undefined` if it can, or if no load was tried yet. */
  loadFailure(): string | undefined
  record(event: string, result: HandlerResult, ms: number, now: number): void
  /** Failures since the last success, also those that do not count against the hook. */
  failureStreak(): number
  crashes(): number
  /** Records that the hook cannot be loaded, without a call. */
  markUnloadable(text: string): void
  recordDropped(): void
  /** Enables the hook again. */
  reset(): void
}

/** Consecutive failures after which a hook is disabled, or reported as failing. */
export const maxConsecutiveFailures = 3
/** Number of durations that are kept. */
const maxSamples = 512

export function createHookHealth(): HookHealth {
  const durationsMs: number[] = []
  let calls = 0
  let failures = 0
  let dropped = 0
  let crashes = 0
  let consecutiveFailures = 0
  let failureStreak = 0
  let loadFailure: string | undefined
  let lastError: HookCounts['lastError'] = null

  return {
    counts: () => ({
      fired: calls,
      failed: failures,
      dropped,
      kills: crashes,
      meanMs: meanOf(durationsMs),
      p99Ms: p99Of(durationsMs),
      lastError,
    }),
    loadFailure: () => loadFailure,
    trippedReason() {
      return consecutiveFailures >= maxConsecutiveFailures
        ? `the hook failed ${maxConsecutiveFailures} times in a row`
        : undefined
    },
    record(event, result, ms, now) {
      durationsMs[calls % maxSamples] = ms
      calls += 1
      if (result.ok) {
        consecutiveFailures = 0
        failureStreak = 0
        return
      }
      failures += 1
      failureStreak += 1
      // It is no error of the handler: it lasts until the files change.
      if (result.kind === 'unloadable') loadFailure = result.message
      else lastError = { at: now, event, text: result.message }
      if (!result.countsAgainstHook) return
      consecutiveFailures += 1
      if (result.hostExited) crashes += 1
    },
    markUnloadable(text) {
      loadFailure = text
    },
    failureStreak: () => failureStreak,
    crashes: () => crashes,
    recordDropped() {
      dropped += 1
    },
    reset() {
      consecutiveFailures = 0
      failureStreak = 0
      loadFailure = undefined
    },
  }
}

function meanOf(times: readonly number[]): number | null {
  return times.length === 0 ? null : times.reduce((sum, ms) => sum + ms, 0) / times.length
}

function p99Of(times: readonly number[]): number | null {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? null
}
