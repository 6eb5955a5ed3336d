/**
 * Keeps the folder of downloaded files below its limit: removes the oldest files, except those that an open message or a
 * delivery still needs.
 */
import { lstatSync, rmSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { findOpenAttachmentPaths } from '../../inbox/queries.ts'
import { listNames } from '../../lib/files.ts'
import { findOpenAttachments } from '../../outbox/queries.ts'
import type { Runtime } from '../../store/runtime.ts'

/** A younger file may belong to a message whose row does not name it yet. */
const minAgeMs = 10 * 60_000

interface StoredFile {
  readonly path: string
  readonly bytes: number
  readonly modifiedAt: number
}

/** Resolves with the number of removed files. Rejects with `store/…` or an error of the file system. */
export async function enforceMediaCap(
  { home, store, clock, log }: Pick<Runtime, 'home' | 'store' | 'clock' | 'log'>,
  maxTotalBytes: number,
): Promise<number> {
  // The pictures of conversations stay as long as these.
  const files = await listFiles(home.media, home.pictures)
  let excess = files.reduce((sum, { bytes }) => sum + bytes, 0) - maxTotalBytes
  if (excess <= 0) return 0
  const { paths, attachments } = await store.run(function* () {
    return { paths: yield* findOpenAttachmentPaths(), attachments: yield* findOpenAttachments() }
  })
  const received = new Set(paths)
  const isNeeded = ({ path, modifiedAt }: StoredFile) =>
    modifiedAt > clock() - minAgeMs ||
    received.has(path) ||
    attachments.some((attachment) => attachment.includes(JSON.stringify(path)))
  let removed = 0
  for (const file of files.sort((a, b) => a.modifiedAt - b.modifiedAt)) {
    if (excess <= 0) break
    if (isNeeded(file)) continue
    // A message that came meanwhile has given it a new time, and is not stored yet.
    if (lstatSync(file.path, { throwIfNoEntry: false })?.mtimeMs !== file.modifiedAt) continue
    rmSync(file.path, { force: true })
    excess -= file.bytes
    removed += 1
  }
  if (removed > 0)
    log.info(
      { event: 'media.evicted', files: removed },
      'the oldest downloaded files were removed (media.max_total_mb)',
    )
  if (excess > 0)
    log.warn(
      { event: 'media.full', bytes: excess },
      'downloaded files that are needed take more than media.max_total_mb',
    )
  return removed
}

/** Regular files, also in subfolders other than `omitted`. */
async function listFiles(folder: string, omitted: string): Promise<StoredFile[]> {
  const files: StoredFile[] = []
  for (const name of await listNames(folder)) {
    const path = join(folder, name)
    if (path === omitted) continue
    const stats = await lstat(path)
    if (stats.isDirectory()) files.push(...(await listFiles(path, omitted)))
    else if (stats.isFile()) files.push({ path, bytes: stats.size, modifiedAt: stats.mtimeMs })
  }
  return files
}
