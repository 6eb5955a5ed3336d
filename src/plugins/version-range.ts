/**
 * Whether a version lies in a range. The only door to `semver`, loaded when a manifest asks for it.
 */
import coerce from 'semver/functions/coerce.js'
import satisfies from 'semver/functions/satisfies.js'
import validRange from 'semver/ranges/valid.js'

/** `1` and `1.2` are versions, too. `no-range`: the range is none. */
export function checkVersion(version: string, range: string): 'inside' | 'outside' | 'no-range' {
  if (validRange(range) === null) return 'no-range'
  const exact = coerce(version, { includePrerelease: true })
  return exact !== null && satisfies(exact, range, { includePrerelease: true }) ? 'inside' : 'outside'
}
