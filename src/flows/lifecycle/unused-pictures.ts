/**
 * Removes pictures to which no message refers: of messages that were withdrawn before their turn, or never stored. The pictures
 * of a conversation stay as long as its messages.
 */
import { lstatSync, rmSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { findOpenAttachmentPaths } from '../../inbox/queries.ts'
import { listNames } from '../../lib/files.ts'
import { findOpenAttachments } from '../../outbox/queries.ts'
import { findStoredImageFiles } from '../../sessions/stored-images.ts'
import type { Store } from '../../store/store.ts'

/** Resolves with the number of removed files that are older than `before` (ms). Rejects with `store/…` or an error of the file system. */
export async function removeUnusedPictures(store: Store, pictures: string, before: number): Promise<number> {
  const lastUses = new Map<string, number>()
  for (const name of await listNames(pictures)) {
    const stats = await lstat(join(pictures, name))
    if (stats.isFile() && stats.mtimeMs < before) lastUses.set(name, stats.mtimeMs)
  }
  if (lastUses.size === 0) return 0
  const old = [...lastUses.keys()]
  const { shown, waiting, outgoing } = await store.run(function* () {
    return {
      shown: yield* findStoredImageFiles(),
      waiting: new Set(yield* findOpenAttachmentPaths()),
      outgoing: yield* findOpenAttachments(),
    }
  })
  const isUsed = (name: string) => {
    const path = join(pictures, name)
    return shown.has(name) || waiting.has(path) || outgoing.some((files) => files.includes(JSON.stringify(path)))
  }
  let removed = 0
  for (const name of old.filter((file) => !isUsed(file))) {
    const path = join(pictures, name)
    // A message that came meanwhile has given it a new time, and is not stored yet.
    if (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs !== lastUses.get(name)) continue
    rmSync(path, { force: true })
    removed += 1
  }
  return removed
}
