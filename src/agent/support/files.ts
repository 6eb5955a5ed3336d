/**
 * Reads, replaces and removes files of this machine at real paths.
 */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemCode } from '../../lib/errors.ts'
import { isOpenedAt, openExactly } from '../../lib/files.ts'

export type ReadTextFileResult =
  /** `lossless`: decoding lost nothing, so that the text may be written back. */
  { readonly ok: true; readonly text: string; readonly lossless: boolean } | ReadFileFailure

/** `reason` is a sentence for the model. */
type ReadFileFailure = {
  readonly ok: false
  readonly code: 'not_found' | 'is_directory' | 'not_regular_file' | 'too_large' | 'binary' | 'changed'
  readonly reason: string
}

const megabyte = 1024 * 1024

/**
 * Reads a regular file; invalid UTF-8 becomes U+FFFD. See `readFileBytes`, which this extends.
 */
export async function readTextFile(path: string, displayName: string, maxBytes: number): Promise<ReadTextFileResult> {
  const read = await readFileBytes(path, displayName, { maxBytes })
  return read.ok ? decodeText(read.bytes, displayName) : read
}

/** The text of a file. A NUL in the first 8 kB makes it a binary file. */
export function decodeText(bytes: Buffer, displayName: string): ReadTextFileResult {
  return bytes.subarray(0, 8192).includes(0)
    ? { ok: false, code: 'binary', reason: `${displayName} is a binary file of ${bytes.length} bytes.` }
    : { ok: true, text: bytes.toString('utf8'), lossless: isUtf8(bytes) }
}

/**
 * Reads a regular file, or `length` bytes of it. `path` is a real path, and the file is not read when a link has replaced a
 * part of it meanwhile. `displayName` is its name in messages. Throws system errors other than ENOENT and ENOTDIR.
 */
export async function readFileBytes(
  path: string,
  displayName: string,
  options: ReadOptions,
): Promise<{ readonly ok: true; readonly bytes: Buffer } | ReadFileFailure> {
  let file: FileHandle
  try {
    file = await openExactly(path)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ELOOP') return changedWhileOpened(displayName)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    return { ok: false, code: 'not_found', reason: `${displayName} does not exist.` }
  }
  try {
    if (!(await isOpenedAt(file, path))) return changedWhileOpened(displayName)
    const stats = await file.stat()
    if (stats.isDirectory()) return isDirectory(displayName)
    if (!stats.isFile()) return { ok: false, code: 'not_regular_file', reason: `${displayName} is not a regular file.` }
    if ('length' in options) return { ok: true, bytes: await readRange(file, options) }
    if (stats.size > options.maxBytes) return tooLarge(displayName, stats.size, options.maxBytes)
    return { ok: true, bytes: await file.readFile() }
  } finally {
    await file.close()
  }
}

async function readRange(file: FileHandle, { offset, length }: { offset: number; length: number }): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

export function isDirectory(displayName: string) {
  const reason = `${displayName} is a directory; search_files lists its files.`
  return { ok: false, code: 'is_directory', reason } as const
}

export function tooLarge(displayName: string, size: number, maxBytes: number) {
  const sizes = `${(size / megabyte).toFixed(1)} MB, more than ${maxBytes / megabyte} MB`
  const reason = `${displayName} has ${sizes}; use search_files, or sed and tail in the terminal.`
  return { ok: false, code: 'too_large', reason } as const
}

function changedWhileOpened(displayName: string): ReadFileFailure {
  return { ok: false, code: 'changed', reason: `${displayName} was replaced while it was being opened.` }
}

/** Names an entry of an open directory, so that the directory cannot be replaced before the entry is used. */
function entryOf(directory: FileHandle, path: string, name: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${directory.fd}/${name}` : join(path, name)
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** Opens the directory at a real path and creates what is missing. Throws system errors. */
async function openDirectory(path: string): Promise<FileHandle> {
  const directory = await open(path, directoryFlags).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT' && dirname(path) !== path) return undefined
    throw error
  })
  if (directory === undefined) return createDirectory(path)
  try {
    if (!(await isOpenedAt(directory, path))) throw new Error(`${path} was replaced while it was being opened`)
    return directory
  } catch (error) {
    await directory.close()
    throw error
  }
}

async function createDirectory(path: string): Promise<FileHandle> {
  const parent = await openDirectory(dirname(path))
  try {
    const entry = entryOf(parent, dirname(path), basename(path))
    await mkdir(entry).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error
    })
    return await open(entry, directoryFlags)
  } finally {
    await parent.close()
  }
}

/**
 * Replaces a file atomically: a reader sees the old or the new text. Keeps its mode and creates missing directories. `path`
 * is a real path; nothing is written when a link has replaced a part of it meanwhile. Throws system errors.
 * @param newMode of a file that does not exist yet, before the umask
 */
export async function writeFileAtomic(
  path: string,
  text: string | Uint8Array,
  newMode = 0o666,
): Promise<{ created: boolean }> {
  const folder = dirname(path)
  const directory = await openDirectory(folder)
  try {
    const target = entryOf(directory, folder, basename(path))
    const existing = await stat(target).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    })
    const temporary = entryOf(directory, folder, `.hermes-${randomUUID()}.tmp`)
    await replaceFile(target, temporary, text, existing?.mode ?? { newMode })
    return { created: existing === undefined }
  } finally {
    await directory.close()
  }
}

/** Removes the file at a real path; its directory exists. Throws system errors. */
export async function removeFile(path: string): Promise<void> {
  const directory = await openDirectory(dirname(path))
  try {
    await unlink(entryOf(directory, dirname(path), basename(path)))
  } finally {
    await directory.close()
  }
}

async function replaceFile(
  target: string,
  temporary: string,
  text: string | Uint8Array,
  mode: number | { readonly newMode: number },
): Promise<void> {
  try {
    const file = await open(temporary, 'wx', typeof mode === 'number' ? mode & 0o777 : mode.newMode)
    try {
      await file.writeFile(text)
      if (typeof mode === 'number') await file.chmod(mode & 0o7777)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

export type ReadOptions = { readonly maxBytes: number } | { readonly offset: number; readonly length: number }
