/**
 * Follows the files that decide what hooks do, and no others: a hook may write its log into its own folder all day.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import type { Logger } from '../lib/log.ts'
import { watchEntries } from '../lib/watch-entries.ts'
import { isHandlerName } from './handler-file.ts'

export interface WatchHooksDeps {
  /** The user's folder of hooks; made if it is not there. */
  readonly root: string
  /** Something may have changed. Must not reject; not called again before it has ended. */
  onChange(): Promise<void>
  readonly log: Logger
}

export interface HooksWatch {
  /** @param files what handlers import, wherever it lies */
  follow(folders: readonly string[], files: ReadonlySet<string>): void
  /** Asks for another look after a while, whatever happens. */
  again(ms: number): void
  close(): void
}

/** Copying and saving take several steps. */
const quietMs = 60
/** Files that never rest are looked at all the same. */
const patienceMs = 400

export function watchHooks({ root, onChange, log }: WatchHooksDeps): HooksWatch {
  let folders: ReadonlySet<string> = new Set()
  let files: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined
  let waitingSince = 0
  let busy = false
  let closed = false

  const entries = watchEntries(
    (folder, name) => {
      if (isRelevant(folder, name)) soon()
    },
    { log },
  )

  function isRelevant(folder: string, name: string | null): boolean {
    if (name === null) return true
    if (folder === dirname(root)) return join(folder, name) === root
    if (folder === root) return !name.startsWith('.')
    if (files.has(join(folder, name))) return true
    return folders.has(folder) && (name === 'HOOK.yaml' || isHandlerName(name))
  }

  function soon(ms = quietMs): void {
    if (closed) return
    const now = performance.now()
    if (timer === undefined) waitingSince = now
    else if (now - waitingSince > patienceMs) return
    clearTimeout(timer)
    timer = setTimeout(() => void look(), ms)
  }

  async function look(): Promise<void> {
    timer = undefined
    if (busy) return soon()
    busy = true
    try {
      await onChange()
    } finally {
      busy = false
    }
  }

  try {
    ensureDirectory(root)
  } catch (error) {
    log.warn({ root, error }, `the folder of hooks cannot be made: ${messageOf(error)}`)
  }

  return {
    follow(hookFolders, imported) {
      if (closed) return
      folders = new Set(hookFolders)
      files = imported
      // When the folder itself is taken away, its return shows in the folder above.
      const top = existsSync(root) ? root : dirname(root)
      // What happened in a folder before it was watched is found by another look.
      if (entries.follow([top, ...folders, ...[...files].map((file) => dirname(file))])) soon()
    },
    again: soon,
    close() {
      closed = true
      clearTimeout(timer)
      entries.close()
    },
  }
}
