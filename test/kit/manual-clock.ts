/**
 * A clock that goes only when the test moves it, and a pause that moves it instead of waiting.
 */
export interface ManualClock {
  /** ms since 1970. */
  now(): number
  advance(ms: number): void
  /** Takes the place of `pause`: the time has passed at once. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Every pause that was asked for, ms. */
  readonly pendingSleeps: readonly number[]
}

export function createManualClock(startsAt = Date.UTC(2026, 0, 2, 3, 4, 5)): ManualClock {
  let time = startsAt
  const pendingSleeps: number[] = []
  return {
    now: () => time,
    advance(ms) {
      time += ms
    },
    async sleep(ms, signal) {
      pendingSleeps.push(ms)
      if (signal?.aborted !== true) time += ms
    },
    pendingSleeps,
  }
}
