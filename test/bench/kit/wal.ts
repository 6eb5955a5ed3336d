/**
 * Counts committed transactions in the write-ahead log: the last frame of each transaction contains the size of the
 * database, all others contain 0.
 */
import { readFileSync } from 'node:fs'

/** Commits and pages in a write-ahead log that was not restarted since its creation. */
export function walContents(path: string): { readonly commits: number; readonly pages: number } {
  const wal = readFileSync(path)
  const pageSize = wal.readUInt32BE(8)
  const salt = wal.subarray(16, 24)
  let commits = 0
  let pages = 0
  for (let at = 32; at + 24 + pageSize <= wal.length; at += 24 + pageSize) {
    // Frames of an earlier log have another salt.
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break
    pages += 1
    if (wal.readUInt32BE(at + 4) > 0) commits += 1
  }
  return { commits, pages }
}
