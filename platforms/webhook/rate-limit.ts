/**
 * Limits how many events a route accepts in a minute. Requests without a valid signature do not count, so that a stranger
 * cannot use up the limit of the sender.
 */
export interface RateLimit {
  /** Counts one event. Resolves to 0, or to the seconds until the next one is accepted. */
  take(route: string): number
}

const windowMs = 60_000

export function createRateLimit(perMinute: number, clock: () => number): RateLimit {
  const windows = new Map<string, { readonly startedAt: number; count: number }>()
  return {
    take(route) {
      const now = clock()
      const current = windows.get(route)
      if (current === undefined || now - current.startedAt >= windowMs || now < current.startedAt) {
        windows.set(route, { startedAt: now, count: 1 })
        return 0
      }
      if (current.count >= perMinute) return Math.ceil((current.startedAt + windowMs - now) / 1_000)
      current.count += 1
      return 0
    },
  }
}
