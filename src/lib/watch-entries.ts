/**
 * Watches the entries of folders without going into them. It opens no file and knows nothing of what lies deeper, so that
 * a folder into which others write all day costs next to nothing.
 */
import { type FSWatcher, statSync, watch } from 'node:fs'
import { messageOf } from './errors.ts'
import type { Logger } from './log.ts'

/** `name` is null where the system does not say which entry it was. */
export type OnEntry = (folder: string, name: string | null) => void

export interface EntryWatch {
  /**
   * Watches these folders and no others from now on; those that do not exist are left out. True when one is watched that
   * was not before: what happened in it until now was not seen. Never throws.
   */
  follow(folders: Iterable<string>): boolean
  /** May be called twice. */
  close(): void
}

interface Open {
  readonly watcher: FSWatcher
  /** Another folder may have taken the place of the one that is watched. */
  readonly identity: string
}

export function watchEntries(onEntry: OnEntry, { log }: { readonly log: Logger }): EntryWatch {
  const open = new Map<string, Open>()

  const forget = (folder: string) => {
    open.get(folder)?.watcher.close()
    open.delete(folder)
  }
  const begin = (folder: string, identity: string): boolean => {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => onEntry(folder, name))
      watcher.on('error', (error) => {
        log.debug({ folder, error }, `a folder is not watched any more: ${messageOf(error)}`)
        forget(folder)
        onEntry(folder, null)
      })
      open.set(folder, { watcher, identity })
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
    follow(folders) {
      const wanted = new Set(folders)
      for (const folder of [...open.keys()]) if (!wanted.has(folder)) forget(folder)
      let begun = false
      for (const folder of wanted) {
        const identity = identityOf(folder)
        if (identity === open.get(folder)?.identity) continue
        forget(folder)
        if (identity !== undefined && begin(folder, identity)) begun = true
      }
      return begun
    },
    close() {
      for (const folder of [...open.keys()]) forget(folder)
    },
  }
}

function identityOf(folder: string): string | undefined {
  try {
    const found = statSync(folder, { throwIfNoEntry: false })
    return found?.isDirectory() === true ? `${found.dev}:${found.ino}` : undefined
  } catch {
    // Whoever reads what is in it will say why it cannot be.
    return undefined
  }
}
