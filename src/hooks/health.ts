/**
 * What is counted of one hook, and when it has failed too often.
 */
import type { HandlerResult } from './handler-result.ts'

export interface HookCounts {
  /** Events it was called with. */
  readonly fired: number
  readonly failed: number
  /** Events it never got: its line was full, or it was set aside. */
  readonly dropped: number
  /** How often its process ended because of it, for certain or perhaps. */
  readonly kills: number
  /** Of the last calls, ms; null before the first. */
  readonly meanMs: number | null
  readonly p99Ms: number | null
  readonly lastError: { readonly at: number; readonly event: string; readonly text: string } | null
}

export interface HookHealth {
  /** Sorts what was measured: for people, not for each event. */
  counts(): HookCounts
  /** Why it hears nothing; undefined while it does. */
  trippedReason(): string | undefined
  record(event: string, outcome: HandlerResult, ms: number, now: number): void
  crashes(): number
  /** It cannot be loaded, as was found out without an event. */
  markUnloadable(text: string, now: number): void
  recordDropped(): void
  /** Begins anew: its files have changed, or somebody said so. */
  reset(): void
}

/** Failures in a row after which a hook is set aside. */
const maxConsecutiveFailures = 3
/** Calls of which the times are kept. */
const maxSamples = 512

export function createHookHealth(): HookHealth {
  const durationsMs: number[] = []
  let calls = 0
  let failures = 0
  let dropped = 0
  let crashes = 0
  let consecutiveFailures = 0
  let isUnloadable = false
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
    trippedReason() {
      if (isUnloadable) return 'it cannot be loaded'
      return consecutiveFailures >= maxConsecutiveFailures
        ? `it failed ${maxConsecutiveFailures} times in a row`
        : undefined
    },
    record(event, outcome, ms, now) {
      durationsMs[calls % maxSamples] = ms
      calls += 1
      if (outcome.ok) {
        consecutiveFailures = 0
        return
      }
      failures += 1
      lastError = { at: now, event, text: outcome.message }
      if (outcome.kind === 'unloadable') isUnloadable = true
      if (!outcome.countsAgainstHook) return
      consecutiveFailures += 1
      if (outcome.hostExited) crashes += 1
    },
    markUnloadable(text, now) {
      isUnloadable = true
      lastError = { at: now, event: '', text }
    },
    crashes: () => crashes,
    recordDropped() {
      dropped += 1
    },
    reset() {
      consecutiveFailures = 0
      isUnloadable = false
    },
  }
}

function meanOf(times: readonly number[]): number | null {
  return times.length === 0 ? null : times.reduce((sum, ms) => sum + ms, 0) / times.length
}

function p99Of(times: readonly number[]): number | null {
  const sorted = times.toSorted((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? null
}
