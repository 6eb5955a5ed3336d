/**
 * Follows the files that decide what hooks do, and no others: a hook may write its log into its own folder all day.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import type { Logger } from '../lib/log.ts'
import { createDirectoryWatcher } from '../lib/watch-directories.ts'
import { isHandlerFileName } from './handler-file.ts'

export interface WatchHooksOptions {
  /** The user's folder of hooks; made if it is not there. */
  readonly root: string
  /** Something may have changed. Must not reject; not called again before it has ended. */
  onChange(): Promise<void>
  readonly log: Logger
}

export interface HookWatcher {
  /** @param files what handlers import, wherever it lies */
  watch(folders: readonly string[], files: ReadonlySet<string>): void
  /** Asks for another look after a while, whatever happens. */
  scheduleCheck(ms: number): void
  close(): void
}

/** Copying and saving take several steps. */
const debounceMs = 60
/** Files that never rest are looked at all the same. */
const maxDebounceMs = 400

export function watchHooks({ root, onChange, log }: WatchHooksOptions): HookWatcher {
  let folders: ReadonlySet<string> = new Set()
  let files: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined
  let waitingSince = 0
  let isChecking = false
  let closed = false

  const entryWatch = createDirectoryWatcher(
    (folder, name) => {
      if (isRelevant(folder, name)) scheduleCheck()
    },
    { log },
  )

  function isRelevant(folder: string, name: string | null): boolean {
    if (name === null) return true
    if (folder === dirname(root)) return join(folder, name) === root
    if (folder === root) return !name.startsWith('.')
    if (files.has(join(folder, name))) return true
    return folders.has(folder) && (name === 'HOOK.yaml' || isHandlerFileName(name))
  }

  function scheduleCheck(ms = debounceMs): void {
    if (closed) return
    const now = performance.now()
    if (timer === undefined) waitingSince = now
    else if (now - waitingSince > maxDebounceMs) return
    clearTimeout(timer)
    timer = setTimeout(() => void runCheck(), ms)
  }

  async function runCheck(): Promise<void> {
    timer = undefined
    if (isChecking) return scheduleCheck()
    isChecking = true
    try {
      await onChange()
    } finally {
      isChecking = false
    }
  }

  try {
    ensureDirectory(root)
  } catch (error) {
    log.warn({ root, error }, `the folder of hooks cannot be made: ${messageOf(error)}`)
  }

  return {
    watch(hookFolders, imported) {
      if (closed) return
      folders = new Set(hookFolders)
      files = imported
      // When the folder itself is taken away, its return shows in the folder above.
      const top = existsSync(root) ? root : dirname(root)
      // What happened in a folder before it was watched is found by another look.
      if (entryWatch.watch([top, ...folders, ...[...files].map((file) => dirname(file))])) scheduleCheck()
    },
    scheduleCheck,
    close() {
      closed = true
      clearTimeout(timer)
      entryWatch.close()
    },
  }
}
