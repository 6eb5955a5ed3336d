/**
 * A file that appears under its name when it is whole, for the owner's eyes only.
 */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureDirectory } from '../lib/files.ts'

export interface AtomicFile {
  write(bytes: Uint8Array): Promise<void>
  /** Makes it durable and gives it its name, in place of what had it. Returns the path. */
  commit(name: string): Promise<string>
  /** Leaves nothing behind. Never rejects; does nothing once it is kept. */
  discard(): Promise<void>
}

/** The folder is made where there is none. Rejects with the system's error, as the methods do. */
export async function openAtomicFile(folder: string): Promise<AtomicFile> {
  ensureDirectory(folder)
  const path = join(folder, `.${randomBytes(8).toString('hex')}.part`)
  const file = await open(path, 'wx', 0o600)
  let committed = false
  return {
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
      // A second close says EBADF, a file that is gone needs no removal: either way nothing is left.
      await file.close().catch(() => undefined)
      await rm(path, { force: true }).catch(() => undefined)
    },
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length; ) from += (await file.write(bytes, from)).bytesWritten
}
