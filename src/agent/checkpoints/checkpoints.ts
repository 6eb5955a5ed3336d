/**
 * Checkpoints: the files of a folder as they were before the agent changed them, one repository for each folder below the home
 * of the gateway. The daemon and commands may use them at once.
 */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createLruCache } from '../../lib/cache.ts'
import { HermesError } from '../../lib/errors.ts'
import { undefinedIfMissing } from '../../lib/files.ts'
import { type CheckpointsDeps, createCheckpointStore, isDirectory, orFailed, sizeOf } from './checkpoint-store.ts'
import { folderOf } from './folder.ts'
import { lastPruneFile, markPruned, pruneCheckpoints } from './prune.ts'
import { FolderTooLarge } from './read-folder.ts'
import type { CheckPath, Checkpoint, Repository, Restored } from './repository.ts'

export interface FolderCheckpoint extends Checkpoint {
  readonly folder: string
}

export interface KeptFolder {
  readonly folder: string
  readonly checkpoints: readonly Checkpoint[]
  readonly bytes: number
  /** Whether the folder is still there. */
  readonly isThere: boolean
}

export interface FolderChange {
  /** For people: `patch`, `terminal: rm -r old`. */
  readonly reason: string
  /** '' for none. */
  readonly session: string
  readonly turn: string
  /** On this machine, absolute. */
  readonly paths: readonly string[]
  /** The paths are directories. */
  readonly areDirectories: boolean
  readonly cwd: string
  /** Whether the person of the turn may write in a folder; others are not kept. */
  mayWrite(folder: string): Promise<boolean>
}

/** A turn waits no longer for a checkpoint. */
const turnTimeoutMs = 15_000
/** A folder that took too long, or was too large, is not tried again for so long. */
const pauseMs = 60 * 60_000
const otherTimeoutMs = 5 * 60_000
const maxTurns = 1_000
const megabyte = 1024 * 1024
const hourMs = 3_600_000

export type Checkpoints = ReturnType<typeof createCheckpoints>

/** Except for `before`, methods reject `checkpoints/unavailable` without git, and `checkpoints/failed` when git fails. */
export function createCheckpoints(deps: CheckpointsDeps) {
  const { directory, settings, clock, log } = deps
  const store = createCheckpointStore(deps)
  const { gitProgram, directoryOf, withRepository, folders, listFolder } = store
  const prune = (options: { readonly orphans: boolean }, signal: AbortSignal) =>
    pruneCheckpoints(store, deps, options, signal)
  const taken = createLruCache<Promise<void>>(maxTurns)
  const pausedUntil = new Map<string, number>()
  let isMissingSaid = false
  let pruning: Promise<unknown> | undefined
  const closing = new AbortController()

  /** Rejects with the reason of the signal alone. */
  async function takeInTurn(folder: string, { reason, session }: FolderChange, signal: AbortSignal): Promise<void> {
    if ((pausedUntil.get(folder) ?? 0) > clock()) return
    const limited = AbortSignal.any([signal, AbortSignal.timeout(turnTimeoutMs)])
    let hasStarted = false
    try {
      await withRepository(folder, limited, (repository) => {
        hasStarted = true
        return repository.take({ reason, session }, limited)
      })
    } catch (error) {
      signal.throwIfAborted()
      // Waiting for other work in the folder says nothing about its size.
      const isTooMuch = error instanceof FolderTooLarge || (hasStarted && limited.aborted)
      if (isTooMuch) pausedUntil.set(folder, clock() + pauseMs)
      log.warn({ event: 'checkpoint.skipped', folder, err: error }, 'no checkpoint was taken before a change of files')
    }
    pruneWhenDue()
  }

  function pruneWhenDue(): void {
    if (!settings().auto_prune || pruning !== undefined || closing.signal.aborted) return
    const limited = AbortSignal.any([closing.signal, AbortSignal.timeout(otherTimeoutMs)])
    pruning = isPruneDue()
      .then(async (isDue) => (isDue ? await prune({ orphans: false }, limited) : undefined))
      .catch((error: unknown) => {
        // The next process removes what is left.
        if (closing.signal.aborted) return
        log.warn({ event: 'checkpoint.prune_failed', err: error }, 'old checkpoints could not be removed')
      })
      .finally(() => {
        pruning = undefined
      })
  }

  async function isPruneDue(): Promise<boolean> {
    const stats = await stat(join(directory, lastPruneFile)).catch(undefinedIfMissing)
    // The first checkpoint ever: there is nothing old.
    if (stats === undefined) await markPruned(directory)
    return stats !== undefined && stats.mtimeMs + settings().min_interval_hours * hourMs <= clock()
  }

  return {
    /** Takes one checkpoint a turn and folder. Never fails a turn: what goes wrong is logged. Rejects with the reason of the signal. */
    async before(change: FolderChange, signal: AbortSignal): Promise<void> {
      if (gitProgram() === undefined) {
        if (!isMissingSaid)
          log.warn({ event: 'checkpoint.unavailable' }, 'no checkpoints are taken, because git is not installed')
        isMissingSaid = true
        return
      }
      const { cwd, areDirectories, turn, mayWrite } = change
      const rules = { home: deps.home, workspace: deps.workspace, userHome: deps.userHome, cwd, mayWrite }
      for (const path of change.paths) {
        const folder = await folderOf(path, { ...rules, isDirectory: areDirectories })
        if (folder === undefined) {
          log.info(
            { event: 'checkpoint.no_folder', path },
            'no folder around a change is kept: too large, or protected',
          )
          continue
        }
        const key = `${turn}\n${folder}`
        const running = taken.get(key) ?? takeInTurn(folder, change, signal)
        taken.set(key, running)
        await running
      }
    },

    /** Lists the checkpoints of one conversation, or of all, the newest first. */
    async list({ session }: { readonly session?: string }, signal: AbortSignal): Promise<readonly FolderCheckpoint[]> {
      if (gitProgram() === undefined) throw new HermesError('checkpoints/unavailable')
      const all: FolderCheckpoint[] = []
      for (const folder of await folders()) {
        const list = await listFolder(folder, signal)
        all.push(...list.map((checkpoint) => ({ ...checkpoint, folder })))
      }
      const selected = session === undefined ? all : all.filter((checkpoint) => checkpoint.session === session)
      return selected.sort((a, b) => b.at - a.at || Number(b.id) - Number(a.id))
    },

    async folders(signal: AbortSignal): Promise<readonly KeptFolder[]> {
      const listings = (await folders()).map(async (folder) => ({
        folder,
        checkpoints: await listFolder(folder, signal),
        bytes: await sizeOf(directoryOf(folder)),
        isThere: await isDirectory(folder),
      }))
      return await Promise.all(listings)
    },

    /** What has changed since a checkpoint; '' for nothing. Rejects `checkpoints/refused` when a file may not be read. */
    async diff(
      checkpoint: FolderCheckpoint,
      { file, mayRead }: { readonly file?: string | undefined; readonly mayRead: CheckPath },
      signal: AbortSignal,
    ): Promise<string> {
      const work = (repository: Repository) =>
        repository.diff(checkpoint, { file, maxBytes: megabyte, mayRead }, signal)
      return await orFailed(() => withRepository(checkpoint.folder, signal, work))
    },

    /** Rejects `checkpoints/refused` when a file may not be written; then nothing is changed. */
    async restore(
      checkpoint: FolderCheckpoint,
      {
        file,
        session,
        mayWrite,
      }: {
        readonly file?: string | undefined
        readonly session: string
        readonly mayWrite: CheckPath
      },
      signal: AbortSignal,
    ): Promise<Restored> {
      const note = { reason: `rollback to ${checkpoint.id}`, session }
      const work = (repository: Repository) => repository.restore(checkpoint, { file, note, mayWrite }, signal)
      return await orFailed(() => withRepository(checkpoint.folder, signal, work))
    },

    /** Removes all of these folders. Needs no git. */
    async clear(names: readonly string[]): Promise<void> {
      for (const folder of names) await rm(directoryOf(folder), { recursive: true, force: true })
    },

    /** Removes those of folders without changes for long, with `orphans` also of folders that are gone, and what is too much. */
    prune,

    /** Ends the removal of old checkpoints that runs in the background. */
    async close(): Promise<void> {
      closing.abort(new Error('the gateway is stopping'))
      await pruning
    },
  }
}
