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

export function writeFile(found: FoundFile, { home, overwrite, dryRun }: WriteOptions): ImportEntry {
  const { area, name, change } = found
  const path = join(home.root, found.target)
  try {
    const content = Buffer.from(found.content)
    const here = existsSync(home.root)
      ? openSourceHome(home.root).bytes(found.target, Number.POSITIVE_INFINITY)
      : undefined
    if (here !== undefined) {
      if ('problem' in here)
        return { area, name, result: 'failed', reason: `${found.target} of this home: ${here.problem}` }
      if (content.equals(here.bytes)) return { area, name, result: 'same', reason: '' }
      if (!overwrite) return { area, name, result: 'conflict', reason: `this home has another ${found.target}` }
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

export function writeFolder(found: FoundFolder, options: WriteOptions): ImportEntry {
  const { area, name, change, files } = found
  const { home, overwrite, dryRun } = options
  try {
    recoverFolder(found, options)
    const here = existsSync(home.root) ? openSourceHome(home.root) : undefined
    const kind = here?.kindOf(found.target) ?? 'missing'
    if (kind !== 'missing') {
      const own = kind === 'folder' ? here?.folder(found.target).files : undefined
      if (own !== undefined && hasSameFiles(own, files)) return { area, name, result: 'same', reason: '' }
      if (!overwrite) return { area, name, result: 'conflict', reason: `this home has another ${found.target}` }
    }
    if (!dryRun) replaceFolder(found, home)
    return { area, name, result: resultOf(change), reason: change }
  } catch (error) {
    return { area, name, result: 'failed', reason: messageOf(error) }
  }
}

function resultOf(change: string): ImportResult {
  return change === '' ? 'taken' : 'changed'
}

function hasSameFiles(own: ReadonlyMap<string, FolderFile>, files: ReadonlyMap<string, FolderFile>): boolean {
  if (own.size !== files.size) return false
  return [...files].every(([path, { content }]) => {
    const found = own.get(path)?.content
    return found !== undefined && Buffer.from(content).equals(found)
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
function recoverFolder(found: FoundFolder, { home, dryRun }: WriteOptions): void {
  const { unfinished, replaced } = stagingOf(found, home)
  if (dryRun) return
  rmSync(unfinished, { recursive: true, force: true })
  if (!existsSync(replaced)) return
  const path = join(home.root, found.target)
  if (existsSync(path)) rmSync(replaced, { recursive: true, force: true })
  else {
    ensureDirectory(dirname(path))
    renameSync(replaced, path)
  }
}

function replaceFolder(found: FoundFolder, home: HomeLayout): void {
  const { unfinished, replaced } = stagingOf(found, home)
  const path = join(home.root, found.target)
  ensureDirectory(dirname(unfinished))
  mkdirSync(unfinished, { mode: 0o700 })
  for (const [relative, { content, isExecutable }] of found.files) {
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
