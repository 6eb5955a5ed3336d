/**
 * Reading and replacing text files whole.
 */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemCode } from '../../../lib/errors.ts'

export type ReadTextFileResult =
  /** `faithful`: decoding lost nothing, so that the text may be written back. */
  | { readonly ok: true; readonly text: string; readonly lossless: boolean }
  /** `reason` is a sentence for the model. */
  | { readonly ok: false; readonly reason: string; readonly missing?: true }

const megabyte = 1024 * 1024

/** Reads a regular file; invalid UTF-8 becomes U+FFFD. `shown` is its name in messages. Throws system errors other than ENOENT. */
export async function readTextFile(path: string, shown: string, maxBytes: number): Promise<ReadTextFileResult> {
  let file: FileHandle
  try {
    // NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const code = systemCode(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    return { ok: false, reason: `${shown} does not exist.`, missing: true }
  }
  try {
    const found = await file.stat()
    if (found.isDirectory()) return { ok: false, reason: `${shown} is a folder; search_files lists its files.` }
    if (!found.isFile()) return { ok: false, reason: `${shown} is not a regular file.` }
    if (found.size > maxBytes) {
      const size = `${(found.size / megabyte).toFixed(1)} MB, more than ${maxBytes / megabyte} MB`
      return { ok: false, reason: `${shown} has ${size}; use search_files, or sed and tail in the terminal.` }
    }
    const bytes = await file.readFile()
    if (bytes.subarray(0, 8192).includes(0)) {
      return { ok: false, reason: `${shown} is a binary file of ${bytes.length} bytes.` }
    }
    return { ok: true, text: bytes.toString('utf8'), lossless: isUtf8(bytes) }
  } finally {
    await file.close()
  }
}

/**
 * Replaces a file in one step: whoever reads it sees the old or the new text, never half of one. Keeps its mode; makes
 * missing folders. Throws system errors.
 */
export async function writeFileAtomic(path: string, text: string): Promise<{ created: boolean }> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  const before = await stat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  })
  const fresh = join(folder, `.hermes-${randomUUID()}.tmp`)
  try {
    const file = await open(fresh, 'wx', before === undefined ? 0o666 : before.mode & 0o777)
    try {
      await file.writeFile(text)
      if (before !== undefined) await file.chmod(before.mode & 0o7777)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(fresh, path)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
  return { created: before === undefined }
}
