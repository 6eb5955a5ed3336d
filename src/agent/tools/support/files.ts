/**
 * Paths as models write them, and reading and replacing whole text files.
 */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { systemCode } from '../../../lib/errors.ts'

/** Resolves a path that a model wrote: relative to the working directory of the environment; `~` is the user's home. */
export function absolutePath(path: string, cwd: string, userHome: string): string {
  if (path === '~') return userHome
  if (path.startsWith('~/')) return join(userHome, path.slice(2))
  return isAbsolute(path) ? resolve(path) : resolve(cwd, path)
}

export type ReadTextFileResult =
  /** `lossless`: decoding lost nothing, so that the text may be written back. */
  | { readonly ok: true; readonly text: string; readonly lossless: boolean }
  /** `reason` is a sentence for the model. */
  | {
      readonly ok: false
      readonly code: 'not_found' | 'is_directory' | 'not_regular_file' | 'too_large' | 'binary'
      readonly reason: string
    }

const megabyte = 1024 * 1024

/**
 * Reads a regular file; invalid UTF-8 becomes U+FFFD. `displayName` is its name in messages. Throws system errors other
 * than ENOENT and ENOTDIR.
 */
export async function readTextFile(path: string, displayName: string, maxBytes: number): Promise<ReadTextFileResult> {
  let file: FileHandle
  try {
    // Without O_NONBLOCK, opening a named pipe without a writer would wait forever.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const code = systemCode(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    return { ok: false, code: 'not_found', reason: `${displayName} does not exist.` }
  }
  try {
    const found = await file.stat()
    if (found.isDirectory())
      return { ok: false, code: 'is_directory', reason: `${displayName} is a directory; search_files lists its files.` }
    if (!found.isFile()) return { ok: false, code: 'not_regular_file', reason: `${displayName} is not a regular file.` }
    if (found.size > maxBytes) {
      const size = `${(found.size / megabyte).toFixed(1)} MB, more than ${maxBytes / megabyte} MB`
      return {
        ok: false,
        code: 'too_large',
        reason: `${displayName} has ${size}; use search_files, or sed and tail in the terminal.`,
      }
    }
    const bytes = await file.readFile()
    if (bytes.subarray(0, 8192).includes(0)) {
      return { ok: false, code: 'binary', reason: `${displayName} is a binary file of ${bytes.length} bytes.` }
    }
    return { ok: true, text: bytes.toString('utf8'), lossless: isUtf8(bytes) }
  } finally {
    await file.close()
  }
}

/**
 * Replaces a file atomically: a reader sees the old or the new text. Keeps its mode and creates missing directories.
 * Throws system errors.
 */
export async function writeFileAtomic(path: string, text: string): Promise<{ created: boolean }> {
  const directory = dirname(path)
  await mkdir(directory, { recursive: true })
  const existing = await stat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  })
  const temporary = join(directory, `.hermes-${randomUUID()}.tmp`)
  try {
    const file = await open(temporary, 'wx', existing === undefined ? 0o666 : existing.mode & 0o777)
    try {
      await file.writeFile(text)
      if (existing !== undefined) await file.chmod(existing.mode & 0o7777)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  return { created: existing === undefined }
}
