/**
 * Shows a container the files that people have sent in its conversations, and no others: they are linked into a directory
 * that is mounted where the gateway keeps all of them.
 */
import { copyFile, link, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { systemCode } from '#sdk'

export interface ExposedFiles {
  /** Files elsewhere, and missing ones, are left out. Rejects with a system error. */
  expose(paths: readonly string[]): Promise<void>
  /** Creates the directory, and removes what the gateway has deleted meanwhile. Rejects with a system error. */
  prepare(): Promise<void>
}

/** @param source where the gateway keeps the files; @param directory the one that is mounted */
export function createExposedFiles(source: string, directory: string): ExposedFiles {
  const shown = new Set<string>()
  return {
    async expose(paths) {
      for (const path of paths) {
        const name = relative(source, path)
        if (shown.has(name) || name === '' || name.startsWith('..') || isAbsolute(name)) continue
        if (await show(path, join(directory, name))) shown.add(name)
      }
    },
    async prepare() {
      shown.clear()
      await mkdir(directory, { recursive: true, mode: 0o755 })
      for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue
        const path = join(entry.parentPath, entry.name)
        if (!(await exists(join(source, relative(directory, path))))) await rm(path, { force: true })
      }
    },
  }
}

async function show(path: string, target: string): Promise<boolean> {
  await mkdir(dirname(target), { recursive: true, mode: 0o755 })
  try {
    await link(path, target)
    return true
  } catch (error) {
    const code = systemCode(error)
    if (code === 'EEXIST') return true
    if (code === 'ENOENT') return false
    // The directory lies on another disk, or the file system has no links.
    await copyFile(path, target)
    return true
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}
