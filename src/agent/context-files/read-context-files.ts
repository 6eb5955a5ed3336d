/**
 * Reads the files of a project that belong to the system prompt (contract §4.11, S3): from the root of the repository down
 * to the working directory, the first one found in each folder.
 */
import { lstat, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '../../lib/errors.ts'
import type { LookAt } from '../../lib/file-memo.ts'
import type { Logger } from '../../lib/log.ts'
import { contextFileNames } from '../command-policy/protected-paths.ts'
import { readTextFile } from '../support/files.ts'
import { truncateMiddle } from '../support/result-json.ts'
import { blockedText, scan } from './scan.ts'

export interface ContextFile {
  /** The real path. */
  readonly path: string
  /** The text, or the line that replaces a blocked file. */
  readonly text: string
}

const maxFolders = 20
const maxFileBytes = 1_048_576
const maxFileChars = 20_000
/** Limits all files together. The outermost folders give way, because the inner ones are more specific. */
const maxTotalChars = 60_000

/**
 * The outermost folder first. Without a repository only the working directory is read. Never rejects.
 *
 * @param onScanned receives what the scan of a file found; empty for a harmless file
 * @param lookAt receives what the result depends on: folders, and the files in them that exist
 */
export async function readContextFiles(
  cwd: string,
  onScanned: (path: string, ids: readonly string[]) => void,
  log: Logger,
  lookAt: LookAt = () => undefined,
): Promise<readonly ContextFile[]> {
  const files: ContextFile[] = []
  try {
    let left = maxTotalChars
    for (const folder of (await foldersOf(cwd, lookAt)).reverse()) {
      const file = await readFirst(folder, onScanned, log, lookAt)
      if (file === undefined) continue
      left -= file.text.length
      if (left >= 0) files.unshift(file)
      else
        log.warn(
          {
            event: 'context.file_skipped',
            path: file.path,
            reason: `all files have at most ${maxTotalChars} characters`,
          },
          'a context file is not loaded',
        )
    }
  } catch (error) {
    log.warn({ event: 'context.unreadable', path: cwd, err: error }, 'the context files cannot be read')
  }
  return files
}

/** From the root of the repository to the working directory. */
async function foldersOf(cwd: string, lookAt: LookAt): Promise<string[]> {
  lookAt(cwd)
  const start = await realpath(cwd).catch(() => undefined)
  if (start === undefined) return []
  const folders = [start]
  for (let folder = start; folders.length <= maxFolders; folder = dirname(folder)) {
    if (folder !== start) folders.unshift(folder)
    const repository = join(folder, '.git')
    lookAt(repository)
    if (await exists(repository)) return folders
    if (dirname(folder) === folder) break
  }
  return [start]
}

async function readFirst(
  folder: string,
  onScanned: (path: string, ids: readonly string[]) => void,
  log: Logger,
  lookAt: LookAt,
): Promise<ContextFile | undefined> {
  lookAt(folder)
  for (const name of contextFileNames) {
    const path = join(folder, name)
    // What the folder does not contain needs no look: the folder changes when it does.
    if (!(await exists(path))) continue
    lookAt(path)
    // Links are not followed: they could name a file that only the gateway may read.
    const file = await readTextFile(path, name, maxFileBytes).catch((error: unknown) => ({
      ok: false as const,
      code: 'unreadable',
      reason: messageOf(error),
    }))
    if (!file.ok) {
      const { code, reason } = file
      if (code !== 'not_found')
        log.warn({ event: 'context.file_skipped', path, reason }, 'a context file is not loaded')
      continue
    }
    if (file.text.trim() === '') continue
    const text = truncateMiddle(file.text, maxFileChars)
    const ids = scan(text, 'context')
    onScanned(path, ids)
    if (ids.length === 0) return { path, text }
    log.warn({ event: 'context.file_blocked', path, ids }, 'a context file may contain instructions of an attacker')
    return { path, text: blockedText(name, ids) }
  }
  return undefined
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  )
}
