/**
 * Reads and writes the small files of the gateway. A write is atomic, and only the owner can read the file.
 *
 * The functions are synchronous because these files are small and rarely written. `writeFileAtomicAsync` is for files that
 * are written during turns.
 */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { systemCode } from './errors.ts'

/**
 * Writes a file so that a reader or a crash sees the old or the new content and never a part of it. The directory must
 * exist. Throws the system's error (ENOSPC, EACCES ...) and removes the temporary file.
 */
export function writeFileAtomic(path: string, text: string | Uint8Array, mode = 0o600): void {
  const temporary = temporaryPathFor(path)
  try {
    const file = openSync(temporary, 'wx', mode)
    try {
      // The umask limits the mode that is passed to open.
      fchmodSync(file, mode)
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncPath(dirname(path))
}

/**
 * Like `writeFileAtomic`, with mode 0600 and without blocking the event loop. `isCurrent` is asked directly before the file is
 * replaced. Returns false when it says no; nothing is changed then. Rejects with the system's error.
 */
export async function writeFileAtomicAsync(path: string, text: string, isCurrent = () => true): Promise<boolean> {
  const temporary = temporaryPathFor(path)
  try {
    await writeAndSync(temporary, 'wx', async (file) => {
      await file.chmod(0o600)
      await file.writeFile(text)
    })
    if (!isCurrent()) {
      await rm(temporary)
      return false
    }
    renameSync(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await writeAndSync(dirname(path), 'r')
  return true
}

async function writeAndSync(
  path: string,
  flags: 'wx' | 'r',
  write?: (file: Awaited<ReturnType<typeof open>>) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await write?.(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

function temporaryPathFor(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`)
}

/** Makes a file durable, or the names in a directory. */
export function syncPath(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** Creates a directory and its parents. An existing directory keeps its mode. Throws the system's error. */
export function ensureDirectory(path: string, mode = 0o700): void {
  // mkdir returns the first directory that it created. The umask limits the mode.
  if (mkdirSync(path, { recursive: true, mode }) !== undefined) chmodSync(path, mode)
}

type UnreadableFileKind = 'is-directory' | 'not-regular-file' | 'too-large' | 'not-utf8'

/** The file exists, but is not a text file that can be read. The message is a clause about the file. */
class UnreadableFileError extends Error {
  readonly kind: UnreadableFileKind

  constructor(kind: UnreadableFileKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UnreadableFileError'
    this.kind = kind
  }
}

/**
 * Returns the text of a file, or `undefined` if it does not exist. Throws `UnreadableFileError` if it is not a small enough
 * UTF-8 file, or the system's error.
 */
export function readTextIfExists(path: string, maxBytes = 16 * 1024 * 1024): string | undefined {
  try {
    const stats = statSync(path)
    // Checked before the file is opened: reading a pipe or a device could block forever.
    if (stats.isDirectory()) throw new UnreadableFileError('is-directory', 'it is a folder, not a file')
    if (!stats.isFile()) throw new UnreadableFileError('not-regular-file', 'it is not a regular file')
    if (stats.size > maxBytes) throw new UnreadableFileError('too-large', `it is larger than ${maxBytes} bytes`)
    return decodeUtf8(readFileSync(path))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new UnreadableFileError('not-utf8', 'it is not UTF-8 text', { cause: error })
  }
}

/**
 * Opens the file at a real path, so that what is checked is what is read. The caller closes it. Rejects with the system's error:
 * ELOOP for a link. A named pipe does not block.
 */
export async function openExactly(path: string): Promise<FileHandle> {
  return await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
}

/** Whether the open file or directory is the one at this real path: no link has replaced a part of the path meanwhile. */
export async function isOpenedAt(file: FileHandle, path: string): Promise<boolean> {
  if (process.platform === 'linux') return (await readlink(`/proc/self/fd/${file.fd}`)) === path
  const [opened, entry, real] = await Promise.all([file.stat(), lstat(path), realpath(path)])
  return real === path && opened.ino === entry.ino && opened.dev === entry.dev
}

/** A path of the open file itself, whatever is at its real path by now; on other systems than Linux, the real path. */
export function pathOfOpenFile(file: FileHandle, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${file.fd}` : path
}

/** For `catch` of a promise: undefined when there is no such file. Throws all other errors. */
export function undefinedIfMissing(error: unknown): undefined {
  const code = systemCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  throw error
}

/** The names in a directory; none when it does not exist. Rejects with other system errors. */
export async function listNames(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

/** Whether a path lies in a directory, or is the directory. Both are absolute, without `.` and `..`; links are not followed. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`)
}

/**
 * Creates the folder in which a child process starts, before the start, if it is one of the gateway: the home or its workspace.
 * Another folder is the choice of a person, and a name with a typing error must not come into being. Throws a system error.
 */
export function prepareProcessFolder(
  home: { readonly root: string; readonly workspace: string },
  folder: string,
): void {
  if (folder === home.workspace || folder === home.root) ensureDirectory(folder)
}
