/**
 * The limits of pairing (contract §3.10) in `_rate_limits.json`: one request of a person in ten minutes, and a lock of one hour
 * after five wrong codes on a platform. Times are seconds since 1970.
 */
import { asNumber } from '../lib/json.ts'
import { type Entries, limitsFile, type PairingFiles } from './pairing-files.ts'

export const requestIntervalSeconds = 600
export const maxFailures = 5
/** A clock that is corrected by this much keeps its requests. */
export const clockToleranceSeconds = 60
const lockSeconds = 3_600

export type FailedApproval =
  | { readonly status: 'unknown'; readonly attemptsLeft: number }
  /** `until`: milliseconds since 1970. */
  | { readonly status: 'locked'; readonly until: number }

/** The functions throw `pairing/files-unusable`. */
export function createPairingLimits(files: PairingFiles, seconds: () => number) {
  /** When no code of this platform can be approved, in seconds; undefined if it is not locked. */
  function lockedUntil(platform: string, limits: Entries): number | undefined {
    const now = seconds()
    const until = Math.max(...[lockKey(platform), lockKey('*')].map((key) => asNumber(limits.get(key))))
    if (until <= now + lockSeconds + clockToleranceSeconds) return until > now ? until : undefined
    // The clock was set back since: the lock begins again, and ends in an hour.
    writeLimits(limits)
    return now + lockSeconds
  }

  /** Stores the limits that still matter, so that the file does not grow with every stranger. */
  function writeLimits(limits: Entries): void {
    const now = seconds()
    const active = [...limits].flatMap(([key, value]): [string, unknown][] => {
      const number = asNumber(value)
      if (key.startsWith('_failures:')) return number > 0 ? [[key, number]] : []
      if (key.startsWith('_lockout:')) return number > now ? [[key, Math.min(number, now + lockSeconds)]] : []
      return Math.abs(now - number) < requestIntervalSeconds ? [[key, number]] : []
    })
    files.write(limitsFile, new Map(active))
  }

  function recordFailure(platform: string, limits: Entries): FailedApproval {
    const failures = asNumber(limits.get(failuresKey(platform))) + 1
    const isLocked = failures >= maxFailures
    limits.set(failuresKey(platform), isLocked ? 0 : failures)
    const until = seconds() + lockSeconds
    if (isLocked) limits.set(lockKey(platform), until)
    writeLimits(limits)
    return isLocked
      ? { status: 'locked', until: until * 1_000 }
      : { status: 'unknown', attemptsLeft: maxFailures - failures }
  }

  return { lockedUntil, writeLimits, recordFailure }
}

/** Locks every platform for an hour: the limits are lost, and with them a lock that may have been there. */
export function lockAfterLostLimits(files: PairingFiles, now: number): void {
  files.write(limitsFile, new Map([[lockKey('*'), now / 1_000 + lockSeconds]]))
}

function lockKey(platform: string): string {
  return `_lockout:${platform}`
}

export function failuresKey(platform: string): string {
  return `_failures:${platform}`
}
