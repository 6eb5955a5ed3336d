/**
 * Small files of our own: written whole or not at all, and for the owner's eyes only.
 * Synchronous on purpose: these files are tiny and rarely written, and start-up is simpler without waiting in between.
 * `saveFile` is for those that are written while people wait for answers.
 */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
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
import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemCode } from './errors.ts'

/**
 * Writes a text so that a reader, or a crash, meets the old file or the new one and never half of it.
 * The folder must exist. Throws the system's error (ENOSPC, EACCES …) and leaves no temporary file behind.
 */
export function writeFileAtomic(path: string, text: string, mode = 0o600): void {
  const temporary = temporaryPathFor(path)
  try {
    const file = openSync(temporary, 'wx', mode)
    try {
      // The mode given to open is cut by the umask.
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
  syncDirectory(dirname(path))
}

/** As `writeFileAtomic`, without holding up anything else. Rejects with the system's error. */
export async function writeFileAtomicAsync(path: string, text: string, mode = 0o600): Promise<void> {
  const temporary = temporaryPathFor(path)
  try {
    await writeAndSync(temporary, 'wx', async (file) => {
      await file.chmod(mode)
      await file.writeFile(text)
    })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await writeAndSync(dirname(path), 'r')
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

/** Makes the rename itself durable. */
function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/** Makes a folder and those above it. A folder that is there keeps its mode. Throws the system's error. */
export function ensureDirectory(path: string, mode = 0o700): void {
  // mkdir answers with the first folder it had to make, and its mode is cut by the umask.
  if (mkdirSync(path, { recursive: true, mode }) !== undefined) chmodSync(path, mode)
}

/** The text of a file; undefined when there is none. Throws for everything else: no rights, a folder, too large, not UTF-8. */
export function readTextIfExists(path: string, maxBytes = 16 * 1024 * 1024): string | undefined {
  try {
    const found = statSync(path)
    // Before it is opened: reading a pipe or a device could wait forever.
    if (!found.isFile())
      throw new Error(found.isDirectory() ? 'it is a folder, not a file' : 'it is not a regular file')
    if (found.size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
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
    throw new Error('it is not UTF-8 text', { cause: error })
  }
}
