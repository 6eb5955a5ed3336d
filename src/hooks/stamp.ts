/**
 * Tells whether files are still the ones they were, without reading them.
 */
import { statSync } from 'node:fs'

export type Stamps = ReadonlyMap<string, string>

/** Never throws. */
export function stampsOf(files: Iterable<string>): Stamps {
  return new Map([...files].map((file) => [file, stampOf(file)]))
}

/** Whether one of the files was written, replaced or removed since. Never throws. */
export function isChanged(stamps: Stamps): boolean {
  return [...stamps].some(([file, stamp]) => stampOf(file) !== stamp)
}

function stampOf(file: string): string {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`
  } catch {
    // A file that cannot be looked at is as good as none; whoever loads it says why.
    return ''
  }
}
