/**
 * Watches the entries of folders without going into them. It opens no file and knows nothing of what lies deeper, so that
 * a folder into which others write all day costs next to nothing.
 */
import { type FSWatcher, statSync, watch } from 'node:fs'
import { messageOf } from './errors.ts'
import type { Logger } from './log.ts'

/** `name` is null where the system does not say which entry it was. */
export type DirectoryListener = (folder: string, name: string | null) => void

export interface DirectoryWatcher {
  /**
   * Watches these folders and no others from now on; those that do not exist are left out. True when one is watched that
   * was not before: what happened in it until now was not seen. Never throws.
   */
  watch(folders: Iterable<string>): boolean
  /** May be called twice. */
  close(): void
}

interface OpenWatcher {
  readonly watcher: FSWatcher
  /** Another folder may have taken the place of the one that is watched. */
  readonly fileId: string
}

export function createDirectoryWatcher(
  onEntry: DirectoryListener,
  { log }: { readonly log: Logger },
): DirectoryWatcher {
  const open = new Map<string, OpenWatcher>()

  const unwatch = (folder: string) => {
    open.get(folder)?.watcher.close()
    open.delete(folder)
  }
  const startWatching = (folder: string, fileId: string): boolean => {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => onEntry(folder, name))
      watcher.on('error', (error) => {
        log.debug({ folder, error }, `a folder is not watched any more: ${messageOf(error)}`)
        unwatch(folder)
        onEntry(folder, null)
      })
      open.set(folder, { watcher, fileId })
      return true
    } catch (error) {
      log.warn(
        { folder, error },
        `a folder cannot be watched; changes in it count after a restart: ${messageOf(error)}`,
      )
      return false
    }
  }

  return {
    watch(folders) {
      const wanted = new Set(folders)
      for (const folder of [...open.keys()]) if (!wanted.has(folder)) unwatch(folder)
      let begun = false
      for (const folder of wanted) {
        const identity = fileIdOf(folder)
        if (identity === open.get(folder)?.fileId) continue
        unwatch(folder)
        if (identity !== undefined && startWatching(folder, identity)) begun = true
      }
      return begun
    },
    close() {
      for (const folder of [...open.keys()]) unwatch(folder)
    },
  }
}

function fileIdOf(folder: string): string | undefined {
  try {
    const found = statSync(folder, { throwIfNoEntry: false })
    return found?.isDirectory() === true ? `${found.dev}:${found.ino}` : undefined
  } catch {
    // Whoever reads what is in it will say why it cannot be.
    return undefined
  }
}
