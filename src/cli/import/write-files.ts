/**
 * Writes files and folders of an import. Each one appears as a whole: a kill leaves either the old or the new one, and the next run
 * continues.
 */
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../../lib/errors.ts'
import { ensureDirectory, writeFileAtomic } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { FolderFile, FoundFile, FoundFolder, ImportEntry, ImportResult } from './contract.ts'
import { openSourceHome } from './source-home.ts'

export interface WriteOptions {
  readonly home: HomeLayout
  readonly overwrite: boolean
  readonly dryRun: boolean
}

export function writeFile(file: FoundFile, { home, overwrite, dryRun }: WriteOptions): ImportEntry {
  const { area, name, change } = file
  const path = join(home.root, file.target)
  try {
    const content = Buffer.from(file.content)
    const here = existsSync(home.root)
      ? openSourceHome(home.root).bytes(file.target, Number.POSITIVE_INFINITY)
      : undefined
    if (here !== undefined) {
      if ('problem' in here)
        return { area, name, result: 'failed', reason: `${file.target} of this home: ${here.problem}` }
      if (content.equals(here.bytes)) return { area, name, result: 'same', reason: '' }
      if (!overwrite) return { area, name, result: 'conflict', reason: `this home has another ${file.target}` }
    }
    if (!dryRun) {
      ensureDirectory(dirname(path))
      writeFileAtomic(path, content)
    }
    return { area, name, result: resultOf(change), reason: change }
  } catch (error) {
    return { area, name, result: 'failed', reason: messageOf(error) }
  }
}

export function writeFolder(folder: FoundFolder, options: WriteOptions): ImportEntry {
  const { area, name, change, files } = folder
  const { home, overwrite, dryRun } = options
  try {
    recoverFolder(folder, options)
    const here = existsSync(home.root) ? openSourceHome(home.root) : undefined
    const kind = here?.kindOf(folder.target) ?? 'missing'
    if (kind !== 'missing') {
      const existing = kind === 'folder' ? here?.folder(folder.target).files : undefined
      if (existing !== undefined && hasSameFiles(existing, files)) return { area, name, result: 'same', reason: '' }
      if (!overwrite) return { area, name, result: 'conflict', reason: `this home has another ${folder.target}` }
    }
    if (!dryRun) replaceFolder(folder, home)
    return { area, name, result: resultOf(change), reason: change }
  } catch (error) {
    return { area, name, result: 'failed', reason: messageOf(error) }
  }
}

function resultOf(change: string): ImportResult {
  return change === '' ? 'taken' : 'changed'
}

function hasSameFiles(existing: ReadonlyMap<string, FolderFile>, files: ReadonlyMap<string, FolderFile>): boolean {
  if (existing.size !== files.size) return false
  return [...files].every(([path, { content }]) => {
    const bytes = existing.get(path)?.content
    return bytes !== undefined && Buffer.from(content).equals(bytes)
  })
}

/** On the disk of the home, and outside of the folders that a running gateway reads. */
function stagingOf(
  { target }: FoundFolder,
  home: HomeLayout,
): { readonly unfinished: string; readonly replaced: string } {
  const name = target.replaceAll(/[^\w.-]/g, '_')
  const directory = join(home.cache, 'import')
  return { unfinished: join(directory, `${name}.new`), replaced: join(directory, `${name}.old`) }
}

/** A kill between two renames has left the old folder aside. */
function recoverFolder(folder: FoundFolder, { home, dryRun }: WriteOptions): void {
  const { unfinished, replaced } = stagingOf(folder, home)
  if (dryRun) return
  rmSync(unfinished, { recursive: true, force: true })
  if (!existsSync(replaced)) return
  const path = join(home.root, folder.target)
  if (existsSync(path)) rmSync(replaced, { recursive: true, force: true })
  else {
    ensureDirectory(dirname(path))
    renameSync(replaced, path)
  }
}

function replaceFolder(folder: FoundFolder, home: HomeLayout): void {
  const { unfinished, replaced } = stagingOf(folder, home)
  const path = join(home.root, folder.target)
  ensureDirectory(dirname(unfinished))
  mkdirSync(unfinished, { mode: 0o700 })
  for (const [relative, { content, isExecutable }] of folder.files) {
    const file = join(unfinished, relative)
    ensureDirectory(dirname(file))
    writeFileSync(file, content, { mode: isExecutable ? 0o700 : 0o600, flush: true })
    // The umask limits the mode.
    chmodSync(file, isExecutable ? 0o700 : 0o600)
  }
  ensureDirectory(dirname(path))
  if (existsSync(path)) renameSync(path, replaced)
  renameSync(unfinished, path)
  rmSync(replaced, { recursive: true, force: true })
}
