/**
 * A clock that the test advances, and a `sleep` that advances it instead of waiting.
 */
export interface ManualClock {
  /** ms since 1970. */
  now(): number
  advance(ms: number): void
  /** Replaces `sleep`: advances the clock and resolves at once. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** The durations passed to `sleep`, ms. */
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
