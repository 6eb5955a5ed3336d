/**
 * A file that only its owner can read and that appears under its name when it is complete.
 */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureDirectory } from '../lib/files.ts'

export interface AtomicFile {
  /** Where it is until it is committed. */
  readonly path: string
  write(bytes: Uint8Array): Promise<void>
  /** Flushes the file to disk and renames it to `name`, replacing an existing file. Returns the path. */
  commit(name: string): Promise<string>
  /** Removes the file unless it was committed. Never rejects. */
  discard(): Promise<void>
}

/** Creates the directory if necessary. Rejects with the system's error, like the methods. */
export async function openAtomicFile(folder: string): Promise<AtomicFile> {
  ensureDirectory(folder)
  const path = join(folder, `.${randomBytes(8).toString('hex')}.part`)
  const file = await open(path, 'wx', 0o600)
  let committed = false
  return {
    path,
    write: (bytes) => writeAll(file, bytes),
    async commit(name) {
      await file.sync()
      await file.close()
      const target = join(folder, name)
      await rename(path, target)
      committed = true
      return target
    },
    async discard() {
      if (committed) return
      // Errors mean that the file is already closed or removed.
      await file.close().catch(() => undefined)
      await rm(path, { force: true }).catch(() => undefined)
    },
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length; ) from += (await file.write(bytes, from)).bytesWritten
}
