/**
 * What is counted of one hook, and when it has failed too often.
 */
import type { Outcome } from './outcome.ts'

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

export interface Health {
  /** Sorts what was measured: for people, not for each event. */
  counts(): HookCounts
  /** Why it hears nothing; undefined while it does. */
  setAside(): string | undefined
  note(event: string, outcome: Outcome, ms: number, now: number): void
  kills(): number
  /** It cannot be loaded, as was found out without an event. */
  unloadable(text: string, now: number): void
  dropped(): void
  /** Begins anew: its files have changed, or somebody said so. */
  forgive(): void
}

/** Failures in a row after which a hook is set aside. */
const maxFailures = 3
/** Calls of which the times are kept. */
const kept = 512

export function createHealth(): Health {
  const times: number[] = []
  let calls = 0
  let failures = 0
  let dropped = 0
  let kills = 0
  let streak = 0
  let cannotLoad = false
  let lastError: HookCounts['lastError'] = null

  return {
    counts: () => ({
      fired: calls,
      failed: failures,
      dropped,
      kills,
      meanMs: meanOf(times),
      p99Ms: p99Of(times),
      lastError,
    }),
    setAside() {
      if (cannotLoad) return 'it cannot be loaded'
      return streak >= maxFailures ? `it failed ${maxFailures} times in a row` : undefined
    },
    note(event, outcome, ms, now) {
      times[calls % kept] = ms
      calls += 1
      if (outcome.ok) {
        streak = 0
        return
      }
      failures += 1
      lastError = { at: now, event, text: outcome.text }
      if (outcome.kind === 'unloadable') cannotLoad = true
      if (!outcome.blamed) return
      streak += 1
      if (outcome.endedHost) kills += 1
    },
    unloadable(text, now) {
      cannotLoad = true
      lastError = { at: now, event: '', text }
    },
    kills: () => kills,
    dropped() {
      dropped += 1
    },
    forgive() {
      streak = 0
      cannotLoad = false
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
