/**
 * Time in microseconds: read as a number, written as a text only when somebody reads it.
 */

/** Microseconds since 1970. */
export type MicroClock = () => number

/** The system's clock may be set; beyond this the fine clock follows it. */
const maxDriftMs = 50

/** The clock of the system, with the microseconds of the clock that only ever goes forward. */
export function createMicroClock(
  wall: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): MicroClock {
  let startMs = wall() - monotonic()
  return () => {
    const wallMs = wall()
    const monotonicMs = monotonic()
    if (Math.abs(startMs + monotonicMs - wallMs) > maxDriftMs) startMs = wallMs - monotonicMs
    return Math.floor((startMs + monotonicMs) * 1_000)
  }
}

/** `2026-01-02T03:04:05.123456Z`, as ATOF writes it. */
export function formatMicroTimestamp(us: number): string {
  const ms = Math.floor(us / 1_000)
  return `${new Date(ms).toISOString().slice(0, -1)}${String(Math.floor(us - ms * 1_000)).padStart(3, '0')}Z`
}
