/**
 * Tells whether files are still the ones they were, without reading them.
 */
import { statSync } from 'node:fs'

export type FileFingerprints = ReadonlyMap<string, string>

/** Never throws. */
export function fingerprintsOf(files: Iterable<string>): FileFingerprints {
  return new Map([...files].map((file) => [file, fingerprintOf(file)]))
}

/** Whether one of the files was written, replaced or removed since. Never throws. */
export function hasChanged(fingerprints: FileFingerprints): boolean {
  return [...fingerprints].some(([file, fingerprint]) => fingerprintOf(file) !== fingerprint)
}

function fingerprintOf(file: string): string {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`
  } catch {
    // A file that cannot be looked at is as good as none; whoever loads it says why.
    return ''
  }
}
