/**
 * A time in which a vendor answers "too many": who came too early, and how soon after its end somebody came again.
 */
import type { CallMatcher } from './faults.ts'

export interface RateWindowOptions {
  readonly on?: CallMatcher
  /** How long it lasts from the first fitting call on. */
  readonly ms: number
  /** For the vendor's words: whom the limit stops. The chat unless said. */
  readonly scope?: 'chat' | 'account'
  /** Only calls that act on this chat. */
  readonly chat?: string
  /** How many windows follow each other, each opened by the first call after the one before; 1. */
  readonly windows?: number
}

export interface RateWindow {
  /** Calls that were answered "too many". */
  refused(): number
  /**
   * Calls that came although an answer had told them to wait longer. Those that may have been on their way when the
   * answer was written (100 ms: machines are busy) do not count.
   */
  earlyCalls(): number
  /** For each window that was followed by a call in time: how long after the told end it came, ms. */
  lateMs(): readonly number[]
  /** No further call will be refused. */
  isOver(): boolean
}

/** How long a call may be under way. */
const inFlightToleranceMs = 100

/** `refuse` and `passed` are for the server: a call that met the window, and one that did not. */
export function createRateWindow(options: RateWindowOptions, unitMs: number, clock: () => number) {
  /** Whole milliseconds: fractions would add up to one more unit of waiting than was meant. */
  const now = () => Math.floor(clock())
  let left = options.windows ?? 1
  let endsAt: number | undefined
  let told: { readonly at: number; until: number } | undefined
  let refused = 0
  let early = 0
  const late: number[] = []

  /** Settles a call against what the answers so far have told. */
  function note(at: number): void {
    if (told === undefined) return
    if (at < told.until) {
      if (at > told.at + inFlightToleranceMs) early += 1
      return
    }
    late.push(at - told.until)
    told = undefined
  }

  /** Takes a window that has ended away. */
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
    /** How long the call is told to wait, ms. */
    refuse(): number {
      const at = now()
      note(at)
      advance(at)
      endsAt ??= at + inUnits(options.ms, unitMs)
      refused += 1
      const waitMs = inUnits(endsAt - at, unitMs)
      told = { at: told?.at ?? at, until: Math.max(told?.until ?? 0, at + waitMs) }
      return waitMs
    },
  }
}

function inUnits(ms: number, unitMs: number): number {
  return Math.ceil(ms / unitMs) * unitMs
}
