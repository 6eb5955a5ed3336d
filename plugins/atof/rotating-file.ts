/**
 * A file of lines that only its owner can read. When it is full it is set aside under the next number.
 */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname, relative, sep } from 'node:path'
import { systemCode } from '#sdk'

export interface RotatingFile {
  /** Appends whole lines. Rejects with the system's error; the next call opens the file anew. */
  append(lines: readonly string[]): Promise<void>
  close(): Promise<void>
}

export interface RotatingFileOptions {
  readonly file: string
  /** Nothing is written elsewhere, whatever links there are. */
  readonly home: string
  readonly maxBytes: number
  readonly keepFiles: number
}

interface OpenFile {
  readonly handle: FileHandle
  size: number
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants
const ownerOnlyMode = 0o600

export function createRotatingFile({ file, home, maxBytes, keepFiles }: RotatingFileOptions): RotatingFile {
  let opened: OpenFile | undefined

  async function openFile(): Promise<OpenFile> {
    const folder = dirname(file)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const within = relative(await realpath(home), await realpath(folder))
    if (within === '..' || within.startsWith(`..${sep}`)) throw new Error(`${folder} leads out of ${home}`)
    const handle = await open(file, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, ownerOnlyMode)
    try {
      await handle.chmod(ownerOnlyMode)
      const { size } = await handle.stat()
      // A line that was cut off, by a full disk or the end of the process, must not spoil the next one.
      if (size === 0 || (await endsWithNewline(handle, size))) return { handle, size }
      await handle.appendFile('\n')
      return { handle, size: size + 1 }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  async function rotate(): Promise<void> {
    await close()
    if (keepFiles === 0) return await rm(file, { force: true })
    for (let number = keepFiles - 1; number >= 1; number--)
      await renameIfExists(`${file}.${number}`, `${file}.${number + 1}`)
    await renameIfExists(file, `${file}.1`)
  }

  async function close(): Promise<void> {
    const { handle } = opened ?? {}
    opened = undefined
    await handle?.close()
  }

  async function write(text: string, bytes: number): Promise<void> {
    opened ??= await openFile()
    if (opened.size > 0 && opened.size + bytes > maxBytes) {
      await rotate()
      opened = await openFile()
    }
    await opened.handle.appendFile(text)
    opened.size += bytes
  }

  return {
    async append(lines) {
      try {
        for (const { text, bytes } of batchLines(lines, maxBytes)) await write(text, bytes)
      } catch (error) {
        await close()
        throw error
      }
    },
    close,
  }
}

/** Lines in pieces that fit into a file; one that is larger than that is a piece of its own. */
function* batchLines(lines: readonly string[], maxBytes: number): Generator<{ text: string; bytes: number }> {
  let text = ''
  let bytes = 0
  for (const line of lines) {
    const more = Buffer.byteLength(line) + 1
    if (bytes > 0 && bytes + more > maxBytes) {
      yield { text, bytes }
      text = ''
      bytes = 0
    }
    text += `${line}\n`
    bytes += more
  }
  if (bytes > 0) yield { text, bytes }
}

async function endsWithNewline(handle: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer.toString('latin1') === '\n'
}

async function renameIfExists(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}
