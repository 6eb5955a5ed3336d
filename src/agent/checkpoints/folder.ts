/**
 * Finds the folder whose files a checkpoint keeps, for a path that is about to change.
 */
import { realpath, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemCode } from '../../lib/errors.ts'
import { isWithin } from '../../lib/files.ts'

export interface FolderRules {
  /** The directory of the gateway. */
  readonly home: string
  /** A folder in it that belongs to the agent. */
  readonly workspace: string
  readonly userHome: string
}

export interface ChangedPath {
  readonly cwd: string
  /** The path is a directory. */
  readonly isDirectory: boolean
  /** Whether the person who causes the change may write in a folder, which is a real path. Others are not kept. Default: all. */
  mayWrite?(folder: string): Promise<boolean>
}

/**
 * The repository around the path, else the working directory around it, else its directory; the first that does not contain
 * too much and may be written. Undefined if there is none. Paths are absolute; the result is a real path.
 */
export async function folderOf(
  path: string,
  { cwd, isDirectory, mayWrite, ...rules }: FolderRules & ChangedPath,
): Promise<string | undefined> {
  const start = await existingDirectory(isDirectory ? path : dirname(path))
  const base = await existingDirectory(cwd)
  const real = await realRules(rules)
  const candidates = [await repositoryAround(start), isWithin(start, base) ? base : undefined, start]
  for (const folder of candidates) {
    if (folder === undefined || isTooBroad(folder, real)) continue
    if ((await mayWrite?.(folder)) !== false) return folder
  }
  return undefined
}

async function realRules({ home, workspace, userHome }: FolderRules) {
  const [realHome, realWorkspace, realUserHome, temporary] = await Promise.all(
    [home, workspace, userHome, tmpdir()].map(existingDirectory),
  )
  return {
    home: realHome ?? home,
    workspace: realWorkspace ?? workspace,
    userHome: realUserHome ?? userHome,
    temporary: temporary ?? '/tmp',
  }
}

function isTooBroad(
  folder: string,
  { home, workspace, userHome, temporary }: FolderRules & { readonly temporary: string },
): boolean {
  if ([home, userHome, temporary, '/tmp', '/var/tmp', '/dev/shm', '/usr/local'].some((root) => isWithin(root, folder)))
    return true
  if (['/proc', '/sys', '/dev/pts', '/etc', '/boot'].some((root) => isWithin(folder, root))) return true
  // The workspace may not exist yet, and then stands for the home.
  return isWithin(folder, home) && !(workspace !== home && isWithin(folder, workspace))
}

/** The nearest one with `.git`. */
async function repositoryAround(directory: string): Promise<string | undefined> {
  for (let folder = directory; ; folder = dirname(folder)) {
    if ((await stat(join(folder, '.git')).catch(undefinedIfUnreachable)) !== undefined) return folder
    if (folder === dirname(folder)) return undefined
  }
}

/** The real path of a directory, or of the nearest one above it that exists. */
async function existingDirectory(path: string): Promise<string> {
  const real = await realpath(path).catch(undefinedIfUnreachable)
  return real ?? (path === dirname(path) ? path : await existingDirectory(dirname(path)))
}

function undefinedIfUnreachable(error: unknown): undefined {
  const code = systemCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return undefined
  throw error
}
