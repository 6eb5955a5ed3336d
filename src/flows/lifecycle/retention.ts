/**
 * Deletes old data: finished inbox and outbox rows, event keys, rows of turns, downloaded files. Conversations stay.
 * Works in small batches, so that no message is delayed.
 */
import { lstat, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sweepQuestions } from '../../approvals/queries.ts'
import { pruneCursors } from '../../inbox/cursors.ts'
import { pruneInbox } from '../../inbox/queries.ts'
import { pruneTrace } from '../../inbox/trace.ts'
import { systemCode } from '../../lib/errors.ts'
import { listNames } from '../../lib/files.ts'
import { sleep } from '../../lib/timers.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { pruneAuxiliaryCalls } from '../../sessions/auxiliary-calls.ts'
import type { SessionsConfig } from '../../sessions/config.ts'
import { pruneTurns } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'

interface RetentionGateway extends Pick<Runtime, 'home' | 'store' | 'clock' | 'log'> {
  readonly settings: () => Pick<SessionsConfig, 'retention'> & { readonly media: { readonly max_total_mb: number } }
}

const dayMs = 86_400_000
const rowsPerBatch = 200
/** The cursor of a chat without messages for so long is deleted; the next message starts a new one. */
const inactiveCursorDays = 90
const batchIntervalMs = 50
const mediaCapIntervalMs = 5 * 60_000

/**
 * Removes old data at once and then once a day, and limits the downloaded files more often, until the signal
 * aborts. Never rejects.
 */
export async function runRetention(
  gateway: RetentionGateway,
  outbox: Pick<Outbox, 'prune'>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = gateway
  let pruneAt = clock()
  while (!signal.aborted) {
    try {
      if (clock() >= pruneAt) {
        pruneAt = clock() + dayMs
        await prune(gateway, outbox, signal)
      }
      const { enforceMediaCap } = await import('./media-cap.ts')
      await enforceMediaCap(gateway, gateway.settings().media.max_total_mb * 1_048_576)
    } catch (error) {
      log.error({ event: 'retention.failed', err: error }, 'old rows or files could not be removed')
    }
    await sleep(mediaCapIntervalMs, signal)
  }
}

/** One run. Rejects with `store/...` or an error of the file system. */
export async function prune(
  { home, store, clock, log, settings }: RetentionGateway,
  outbox: Pick<Outbox, 'prune'>,
  signal: AbortSignal,
): Promise<{ rows: number; files: number }> {
  const { days, media_days } = settings().retention
  const before = clock() - days * dayMs
  const steps: ((limit: number) => Transaction<number>)[] = [
    (limit) => pruneInbox(before, limit),
    (limit) => outbox.prune(before, limit),
    (limit) => pruneTurns(before, limit),
    (limit) => sweepQuestions(before, limit),
    (limit) => pruneTrace(before, limit),
    (limit) => pruneAuxiliaryCalls(before, limit),
    (limit) => pruneCursors(clock() - inactiveCursorDays * dayMs, limit),
  ]
  const { pruneRecords } = await import('../platform/platform-records.ts')
  steps.push((limit) => pruneRecords(before, limit))
  let rows = 0
  for (const step of steps) {
    for (let deleted = rowsPerBatch; deleted === rowsPerBatch && !signal.aborted; ) {
      deleted = await store.run(() => step(rowsPerBatch))
      rows += deleted
      if (deleted === rowsPerBatch) await sleep(batchIntervalMs, signal)
    }
  }
  const { removeUnusedPictures } = await import('./unused-pictures.ts')
  const files =
    (await removeOldFiles(home.media, home.pictures, clock() - media_days * dayMs)) +
    (await removeOldFiles(home.results, home.pictures, clock() - media_days * dayMs)) +
    (await removeUnusedPictures(store, home.pictures, clock() - dayMs)) +
    (await removeOldFiles(join(home.media, 'uploads'), home.pictures, clock() - dayMs))
  if (rows + files > 0) log.info({ event: 'retention.pruned', rows, files }, 'old rows and files removed')
  return { rows, files }
}

/** Includes files in subfolders (one for each day) and then the empty subfolders. Leaves links and the folder `kept` unchanged. */
async function removeOldFiles(folder: string, keptFile: string, before: number): Promise<number> {
  let removed = 0
  for (const name of await listNames(folder)) {
    const path = join(folder, name)
    if (path === keptFile) continue
    const stats = await lstat(path)
    if (stats.isDirectory()) {
      removed += await removeOldFiles(path, keptFile, before)
      if (stats.mtimeMs < before) await removeIfEmpty(path)
    } else if (stats.isFile() && stats.mtimeMs < before) {
      await rm(path, { force: true })
      removed += 1
    }
  }
  return removed
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder)
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY') throw error
  }
}
