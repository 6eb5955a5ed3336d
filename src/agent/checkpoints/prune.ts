/**
 * Removes checkpoints that are old, or that take too much space.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CheckpointStore, type CheckpointsDeps, isDirectory, orFailed, sizeOf } from './checkpoint-store.ts'
import type { Checkpoint } from './repository.ts'

export interface PruneResult {
  readonly folders: number
  readonly checkpoints: number
  readonly freedBytes: number
}

/** Its time of change says when checkpoints were removed last. */
export const lastPruneFile = '.last_prune'
const dayMs = 86_400_000
const megabyte = 1024 * 1024

export async function markPruned(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(join(directory, lastPruneFile), '', { mode: 0o600 })
}

/** `orphans`: also those of folders that are gone, which may be on a disk that is not mounted now. */
export async function pruneCheckpoints(
  store: CheckpointStore,
  { directory, settings, clock }: CheckpointsDeps,
  { orphans }: { readonly orphans: boolean },
  signal: AbortSignal,
): Promise<PruneResult> {
  const { retention_days, max_total_size_mb } = settings()
  await markPruned(directory)
  const limit = clock() - retention_days * dayMs
  const result = { folders: 0, checkpoints: 0, freedBytes: 0 }
  let remaining: { folder: string; bytes: number; list: readonly Checkpoint[] }[] = []
  for (const folder of await store.folders()) {
    const isThere = await isDirectory(folder)
    const list = isThere ? await store.listFolder(folder, signal) : []
    const bytes = await sizeOf(store.directoryOf(folder))
    const isOld = isThere ? (list[0]?.at ?? 0) < limit : orphans
    if (!isOld) {
      if (isThere) remaining.push({ folder, bytes, list })
      continue
    }
    await rm(store.directoryOf(folder), { recursive: true, force: true })
    result.folders += 1
    result.checkpoints += list.length
    result.freedBytes += bytes
  }
  // The folder whose last change is the longest ago loses its oldest checkpoints first.
  remaining = remaining.sort((a, b) => (a.list[0]?.at ?? 0) - (b.list[0]?.at ?? 0))
  let total = remaining.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const { folder, bytes, list } of remaining) {
    const isOver = max_total_size_mb > 0 && total > max_total_size_mb * megabyte
    const dropped = [
      ...new Set([...ofOldConversations(list, limit), ...(isOver ? list.slice(Math.ceil(list.length / 2)) : [])]),
    ]
    // It rewrites the repository, and turns wait for the lock meanwhile.
    if (dropped.length === 0) continue
    await store.withRepository(folder, signal, async (repository) => {
      await repository.drop(dropped, signal)
      await orFailed(() => repository.collectGarbage(signal))
    })
    const left = await sizeOf(store.directoryOf(folder))
    total -= bytes - left
    result.checkpoints += dropped.length
    result.freedBytes += bytes - left
  }
  return result
}

/** Returns the checkpoints of conversations that have taken none since the limit. */
function ofOldConversations(list: readonly Checkpoint[], limit: number): readonly Checkpoint[] {
  const recent = new Set(list.filter(({ at }) => at >= limit).map(({ session }) => session))
  return list.filter(({ session }) => !recent.has(session))
}
