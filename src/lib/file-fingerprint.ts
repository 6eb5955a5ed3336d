/**
 * Tells versions of files apart by their metadata, without reading them.
 */
import { statSync } from 'node:fs'
import { messageOf } from './errors.ts'

/** By path. */
export type FileFingerprints = ReadonlyMap<string, string>

/**
 * Differs whenever the file was written, replaced, created or removed; '' for a missing file. Links are followed.
 * Never throws: the caller that reads the file reports why it cannot be read.
 */
export function fingerprintOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? '' : `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
  } catch (error) {
    return messageOf(error)
  }
}

/** Never throws. */
export function fingerprintsOf(paths: Iterable<string>): FileFingerprints {
  return new Map([...paths].map((path) => [path, fingerprintOf(path)]))
}

/** Whether one of the files was written, replaced, created or removed since. Never throws. */
export function hasChanged(fingerprints: FileFingerprints): boolean {
  return [...fingerprints].some(([path, fingerprint]) => fingerprintOf(path) !== fingerprint)
}
