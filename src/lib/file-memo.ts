/**
 * Tells versions of files apart by their metadata, without reading them, and remembers what was made of files for as long as that
 * stays the same. Looking at the metadata of a file takes some microseconds, and reading it asynchronously many times that.
 */

import { statSync } from 'node:fs'
import { createLruCache } from './cache.ts'
import { messageOf } from './errors.ts'

/** Called before a file is read or a folder is listed. A path that does not exist may be looked at, too. */
export type LookAt = (path: string) => void

/** Returns the remembered result for `key`, or reads it. A promise that rejects is forgotten. */
export type FileMemo<Result> = (key: string, read: (lookAt: LookAt) => Result) => Result

/** Two changes within one tick of the clock of a file system may leave the same metadata. */
const clockTickMs = 50

export function createFileMemo<Result>(maxEntries: number): FileMemo<Result> {
  const entries = createLruCache<{ readonly result: Result; readonly looked: ReadonlyMap<string, string> }>(maxEntries)
  return (key, read) => {
    const known = entries.get(key)
    if (known !== undefined && !hasChanged(known.looked)) return known.result
    const looked = new Map<string, string>()
    const result = read((path) => {
      // The first look counts: what is read later may be newer, and is then read again.
      if (!looked.has(path)) looked.set(path, isAtRest(path) ? fingerprintOf(path) : unsettled)
    })
    const entry = { result, looked }
    entries.set(key, entry)
    if (result instanceof Promise) result.catch(() => entries.get(key) === entry && entries.delete(key))
    return result
  }
}

/** Equals the fingerprint of no file. */
const unsettled = 'changed just now'

function isAtRest(path: string): boolean {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats === undefined || Math.abs(Date.now() - stats.ctimeMs) > clockTickMs
  } catch {
    // Its fingerprint is the error.
    return true
  }
}

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
