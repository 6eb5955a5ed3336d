/**
 * The window of a rate limit: counts calls that come too early, and measures when the first call after the window comes.
 */
import type { CallMatcher } from './faults.ts'

export interface RateWindowOptions {
  readonly on?: CallMatcher
  /** Duration from the first matching call. */
  readonly ms: number
  /** What the limit applies to. Default: the chat. */
  readonly scope?: 'chat' | 'account'
  /** Limits only calls of this chat. */
  readonly chat?: string
  /** Number of consecutive windows; each starts with the first call after the previous one. Default: 1. */
  readonly windows?: number
}

export interface RateWindow {
  /** Number of rate-limited calls. */
  refused(): number
  /**
   * Number of calls before the end of a reported wait time. Calls within 100 ms of the response do not count, because they
   * may have been in flight.
   */
  earlyCalls(): number
  /** For each window: the time from the reported end to the next call, ms. */
  lateMs(): readonly number[]
  /** True if no further call will be rate limited. */
  isOver(): boolean
}

/** Tolerance for calls in flight. */
const inFlightToleranceMs = 100

/** The server calls `refuse` for a rate-limited call, and `passed` for any other call. */
export function createRateWindow(options: RateWindowOptions, unitMs: number, clock: () => number) {
  /** Whole milliseconds, because fractions could add a unit to the wait time. */
  const now = () => Math.floor(clock())
  let left = options.windows ?? 1
  let endsAt: number | undefined
  let reported: { readonly at: number; until: number } | undefined
  let refused = 0
  let early = 0
  const late: number[] = []

  /** Compares a call with the reported wait time. */
  function note(at: number): void {
    if (reported === undefined) return
    if (at < reported.until) {
      if (at > reported.at + inFlightToleranceMs) early += 1
      return
    }
    late.push(at - reported.until)
    reported = undefined
  }

  /** Ends a window whose time is over. */
  function advance(at: number): void {
    if (endsAt === undefined || at < endsAt) return
    endsAt = undefined
    left -= 1
  }

  return {
    refused: () => refused,
    earlyCalls: () => early,
    lateMs: () => late,
    isOver(): boolean {
      advance(now())
      return left <= 0
    },
    passed: () => note(now()),
    /** Returns the wait time to report, ms. */
    refuse(): number {
      const at = now()
      note(at)
      advance(at)
      endsAt ??= at + inUnits(options.ms, unitMs)
      refused += 1
      const waitMs = inUnits(endsAt - at, unitMs)
      reported = { at: reported?.at ?? at, until: Math.max(reported?.until ?? 0, at + waitMs) }
      return waitMs
    },
  }
}

function inUnits(ms: number, unitMs: number): number {
  return Math.ceil(ms / unitMs) * unitMs
}
