/**
 * Forgets what is old: finished inbox and outbox rows, event keys, rows of turns, downloaded files. Conversations stay.
 * Works in small steps, so that no message waits behind it.
 */
import { lstat, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sweepQuestions } from '../approvals/queries.ts'
import { sweepMarks } from '../inbox/marks.ts'
import { sweepInbox } from '../inbox/queries.ts'
import { sweepTrace } from '../inbox/trace.ts'
import { messageOf, systemCode } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { SessionsConfig } from '../sessions/config.ts'
import { sweepTurns } from '../sessions/turns.ts'
import type { UseCase } from '../store/query.ts'
import type { Store } from '../store/store.ts'

export interface RetentionDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'sweep'>
  readonly mediaFolder: string
  readonly clock: () => number
  readonly log: Logger
  readonly settings: () => SessionsConfig['retention']
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
}

const dayMs = 86_400_000
const rowsPerStep = 200
/** A place in which nobody wrote for so long is read anew from whatever comes next. */
const quietDays = 90
const firstSweepMs = 60_000
const betweenStepsMs = 50

/** Sweeps a minute after the start and then once a day, until the signal aborts. Never rejects. */
export async function keepTidy(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  await deps.pause(firstSweepMs, signal)
  while (!signal.aborted) {
    try {
      await sweep(deps, signal)
    } catch (error) {
      deps.log.error({ error }, `old rows could not be removed: ${messageOf(error)}`)
    }
    await deps.pause(dayMs, signal)
  }
}

/** One sweep. Rejects with `store/…` or an error of the file system. */
export async function sweep(deps: RetentionDeps, signal: AbortSignal): Promise<{ rows: number; files: number }> {
  const { days, media_days } = deps.settings()
  const before = deps.clock() - days * dayMs
  const steps: ((limit: number) => UseCase<number>)[] = [
    (limit) => sweepInbox(before, limit),
    (limit) => deps.outbox.sweep(before, limit),
    (limit) => sweepTurns(before, limit),
    (limit) => sweepQuestions(before, limit),
    (limit) => sweepTrace(before, limit),
    (limit) => sweepMarks(deps.clock() - quietDays * dayMs, limit),
  ]
  let rows = 0
  for (const step of steps) {
    for (let gone = rowsPerStep; gone === rowsPerStep && !signal.aborted; ) {
      gone = await deps.store.run(() => step(rowsPerStep))
      rows += gone
      if (gone === rowsPerStep) await deps.pause(betweenStepsMs, signal)
    }
  }
  const files = await removeOldFiles(deps.mediaFolder, deps.clock() - media_days * dayMs)
  if (rows + files > 0) deps.log.info({ rows, files }, 'old rows and files removed')
  return { rows, files }
}

/** Also those in folders (one for each day), and the folders that are empty then. Links are left alone. */
async function removeOldFiles(folder: string, before: number): Promise<number> {
  let removed = 0
  for (const name of await namesIn(folder)) {
    const path = join(folder, name)
    const found = await lstat(path)
    if (found.isDirectory()) {
      removed += await removeOldFiles(path, before)
      if (found.mtimeMs < before) await removeIfEmpty(path)
    } else if (found.isFile() && found.mtimeMs < before) {
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

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}
