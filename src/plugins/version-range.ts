/**
 * Checks whether a version is in a range. The only import of `semver`, loaded when a manifest contains a range.
 */
import semver from 'semver'

/** Accepts incomplete versions such as `1` and `1.2`. */
export function checkVersion(version: string, range: string): 'inside' | 'outside' | 'invalid-range' {
  if (semver.validRange(range) === null) return 'invalid-range'
  const exact = semver.coerce(version, { includePrerelease: true })
  return exact !== null && semver.satisfies(exact, range, { includePrerelease: true }) ? 'inside' : 'outside'
}
