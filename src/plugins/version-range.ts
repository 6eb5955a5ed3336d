/**
 * Checks whether a version is in a range. The only import of `semver`, loaded when a manifest names a range.
 */
import semver from 'semver'

/** `1` and `1.2` are versions, too. `no-range`: the range is none. */
export function checkVersion(version: string, range: string): 'inside' | 'outside' | 'no-range' {
  if (semver.validRange(range) === null) return 'no-range'
  const exact = semver.coerce(version, { includePrerelease: true })
  return exact !== null && semver.satisfies(exact, range, { includePrerelease: true }) ? 'inside' : 'outside'
}
