/**
 * Reads the files of a folder into the index of its checkpoints.
 */
import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { undefinedIfMissing } from '../../lib/files.ts'
import type { RunGit } from './git.ts'

export interface CheckpointLimits {
  readonly maxSnapshots: number
  /** Larger files are left out. */
  readonly maxFileBytes: number
  /** Files of a folder that has more are not kept at all. */
  readonly maxFiles: number
  /** New content of one checkpoint. */
  readonly maxBytes: number
}

/** The folder has too many files, or files that are too large together. */
export class FolderTooLarge extends Error {}

/** Parallel system calls. */
const batchSize = 64

/**
 * Brings the index up to date with the folder. Returns its tree.
 *
 * @param openSecretFilter tells for the real path of a file whether it is left out
 */
export async function readFolder(
  git: RunGit,
  workTree: string,
  limits: CheckpointLimits,
  openSecretFilter: () => Promise<(path: string) => boolean>,
  signal: AbortSignal,
): Promise<string> {
  const listed = await git(['ls-files', '-z', '--others', '--modified', '--deleted', '--exclude-standard'], {
    signal,
  })
  const paths = [...new Set(listed.split('\0').filter((path) => path !== ''))]
  if (paths.length > limits.maxFiles) throw new FolderTooLarge(`more than ${limits.maxFiles} files have changed`)
  const isSecret = await openSecretFilter()
  const names: string[] = []
  const dropped: string[] = []
  let bytes = 0
  for (let at = 0; at < paths.length; at += batchSize) {
    signal.throwIfAborted()
    const batch = paths.slice(at, at + batchSize)
    const sizes = await Promise.all(batch.map((path) => keptSize(join(workTree, path), limits.maxFileBytes)))
    for (const [index, path] of batch.entries()) {
      const size = sizes[index]
      // The folder of another repository ends with a slash.
      if (size === undefined || path.endsWith('/') || isSecret(join(workTree, path))) dropped.push(path)
      else {
        bytes += size
        names.push(path)
      }
    }
  }
  if (bytes > limits.maxBytes) throw new FolderTooLarge(`${Math.round(bytes / 1e6)} MB have changed`)
  const asInput = (some: readonly string[]) => some.map((path) => `${path}\0`).join('')
  if (dropped.length > 0)
    await git(['update-index', '--force-remove', '-z', '--stdin'], { signal, input: asInput(dropped) })
  if (names.length > 0)
    await git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], { signal, input: asInput(names) })
  return (await git(['write-tree'], { signal })).trim()
}

/** Undefined for what is left out: a large or unreadable file, and what is none. 0 for a file that is gone. */
async function keptSize(path: string, maxBytes: number): Promise<number | undefined> {
  try {
    const stats = await lstat(path)
    if (stats.isSymbolicLink()) return 0
    if (!stats.isFile() || stats.size > maxBytes) return undefined
    await access(path, constants.R_OK)
    return stats.size
  } catch (error) {
    if (undefinedIfMissing(error) === undefined) return 0
    return undefined
  }
}
