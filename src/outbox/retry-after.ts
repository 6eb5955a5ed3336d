/**
 * How long a platform that answers "too many" is left alone.
 */

/** Where it does not say. */
const defaultDelayMs = 5_000
/** A platform that says "at once" again and again must not be called without end. */
const minDelayMs = 50
/** A number beyond this is a mistake, and no row is kept longer. */
const maxDelayMs = 30 * 86_400_000
/** The clock counts whole milliseconds: what it calls now may be nearly one later. */
const clockStepMs = 1

/** The moment (ms since 1970) from which a platform may be called again that has limited the rate at `now`. */
export function retryAt(retryAfterMs: number | undefined, now: number): number {
  const requestedMs = retryAfterMs === undefined || !Number.isFinite(retryAfterMs) ? defaultDelayMs : retryAfterMs
  return now + Math.ceil(Math.min(maxDelayMs, Math.max(minDelayMs, requestedMs))) + clockStepMs
}
