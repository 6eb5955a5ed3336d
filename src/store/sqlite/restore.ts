/**
 * Replaces files of a home by restored ones, so that a crash leaves the old state or the new one and nothing between them. The caller
 * holds the lock of the home.
 *
 * New files are collected in a folder of the home. Then the journal, which names them, is written: from now on the restore goes on.
 * Each file is exchanged by two renames. The next lock of the home finishes them, or removes a collection without a journal.
 */
import { lstatSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ensureDirectory, readTextIfExists, syncPath, writeFileAtomic } from '../../lib/files.ts'
import { createHomeLayout, type HomeLayout } from '../../lib/home.ts'
import { asRecord, parseJson } from '../../lib/json.ts'

type RestoredHome = Pick<HomeLayout, 'root' | 'restore' | 'beforeRestore'>

/** Returns an empty folder for the new files. Throws the system's error. */
export function collectRestore({ restore }: Pick<RestoredHome, 'restore'>): string {
  rmSync(restore, { recursive: true, force: true })
  const { collected } = pathsOf(restore)
  ensureDirectory(collected)
  return collected
}

/** Removes what was collected. */
export function undoRestore({ restore }: Pick<RestoredHome, 'restore'>): void {
  rmSync(restore, { recursive: true, force: true })
}

/**
 * Replaces what the home has of these names by what was collected, and moves the former files to `before-restore`, whose content it
 * replaces. A name that was not collected is missing afterwards. Throws the system's error; then the next lock of the home goes on.
 */
export function applyRestore(home: RestoredHome, names: readonly string[]): void {
  const { journal, collected, former } = pathsOf(home.restore)
  const items = names.map((name) => ({ name, isNew: isPresent(join(collected, name)) }))
  ensureDirectory(former)
  syncPath(home.root)
  writeFileAtomic(journal, JSON.stringify(items))
  finishRestore(home)
}

/** Ends a restore that was interrupted. Throws the system's error. */
export function recoverRestore(lockFile: string): void {
  const home = createHomeLayout(dirname(lockFile))
  if (!isPresent(home.restore)) return
  if (isPresent(pathsOf(home.restore).journal)) finishRestore(home)
  else undoRestore(home)
}

/** Each step can be repeated: what it does is decided by what is there. */
function finishRestore({ root, restore, beforeRestore }: RestoredHome): void {
  const { journal, collected, former } = pathsOf(restore)
  for (const { name, isNew } of readItems(journal)) {
    const current = join(root, name)
    const isPending = !isNew || isPresent(join(collected, name))
    if (isPending && isPresent(current) && !isPresent(join(former, name))) renameSync(current, join(former, name))
    if (isNew && isPending) renameSync(join(collected, name), current)
  }
  // Missing when only the end of the restore was interrupted.
  if (isPresent(former)) {
    syncPath(former)
    syncPath(root)
    rmSync(beforeRestore, { recursive: true, force: true })
    renameSync(former, beforeRestore)
    syncPath(root)
  }
  rmSync(journal)
  undoRestore({ restore })
}

function readItems(journal: string): { readonly name: string; readonly isNew: boolean }[] {
  const items = parseJson(readTextIfExists(journal) ?? '')
  return (Array.isArray(items) ? items : []).map((item) => {
    const { name, isNew } = asRecord(item)
    return { name: String(name), isNew: isNew === true }
  })
}

/** A link is present, wherever it leads. */
function isPresent(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function pathsOf(restore: string) {
  return { journal: join(restore, 'journal.json'), collected: join(restore, 'new'), former: join(restore, 'former') }
}
