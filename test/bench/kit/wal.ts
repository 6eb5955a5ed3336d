/**
 * Counts the transactions that reached the disk, from the write-ahead log itself: the last frame of each one says how
 * large the database is afterwards, all others say 0.
 */
import { readFileSync } from 'node:fs'

/** Commits and pages in a write-ahead log that has not been started over since it was made. */
export function walContents(path: string): { readonly commits: number; readonly pages: number } {
  const wal = readFileSync(path)
  const pageSize = wal.readUInt32BE(8)
  const salt = wal.subarray(16, 24)
  let commits = 0
  let pages = 0
  for (let at = 32; at + 24 + pageSize <= wal.length; at += 24 + pageSize) {
    // Frames of an earlier round carry another salt.
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break
    pages += 1
    if (wal.readUInt32BE(at + 4) > 0) commits += 1
  }
  return { commits, pages }
}
