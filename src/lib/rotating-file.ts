/**
 * An append-only file of lines with a size limit. A full file is renamed to the next generation and a new one is opened.
 * The log of the gateway and the plugin `atof` write through it.
 *
 * Writes are either synchronous, so that a line survives the death of the process, or asynchronous, so that the caller
 * does not wait for the disk. Opening and rotating are synchronous in both cases: they only change directory entries.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  write,
  writeSync,
} from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { systemCode } from './errors.ts'
import { ensureDirectory } from './files.ts'

export interface RotatingFileOptions {
  readonly path: string
  /** Path of a rotated file; 1 is the newest. Default: `<path>.1`, `<path>.2` ... */
  readonly generationPath?: (generation: number) => string
  /** Size at which a file is rotated. A line that is larger gets a file of its own. */
  readonly maxBytes: number
  /** Number of rotated files to keep, without the current one. */
  readonly keepFiles: number
  /** Refuses to write outside this directory, also through links. */
  readonly root?: string
}

export interface RotatingFile {
  /** Appends text that ends with a line break. Throws the system's error and removes an incomplete line. */
  appendSync(text: string): void
  /** Appends lines without line breaks. Rejects with the system's error. Wait for one call before the next. */
  append(lines: readonly string[]): Promise<void>
  /** The next write opens the file again. */
  close(): void
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants
const ownerOnlyMode = 0o600
const newline = 0x0a

export function createRotatingFile(options: RotatingFileOptions): RotatingFile {
  const { path, maxBytes, keepFiles, generationPath = (generation) => `${path}.${generation}` } = options
  let file: { readonly descriptor: number; size: number } | undefined

  const close = () => {
    const descriptor = file?.descriptor
    file = undefined
    if (descriptor !== undefined) closeSync(descriptor)
  }
  const rotate = () => {
    close()
    const pathOf = (generation: number) => (generation === 0 ? path : generationPath(generation))
    if (keepFiles === 0) rmSync(path, { force: true })
    for (let generation = keepFiles; generation > 0; generation--)
      renameIfExists(pathOf(generation - 1), pathOf(generation))
  }
  const openFor = (bytes: number) => {
    file ??= openFile(options)
    if (file.size === 0 || file.size + bytes <= maxBytes) return file
    rotate()
    file = openFile(options)
    return file
  }
  /** An incomplete line would corrupt the next one. */
  const discardPartialLine = (written: number) => {
    const { descriptor, size } = file ?? {}
    if (written > 0 && descriptor !== undefined && size !== undefined) ftruncateSync(descriptor, size)
  }

  return {
    appendSync(text) {
      const bytes = Buffer.from(text)
      const target = openFor(bytes.length)
      let written = 0
      try {
        while (written < bytes.length) written += writeSync(target.descriptor, bytes, written)
        target.size += bytes.length
      } catch (error) {
        discardPartialLine(written)
        throw error
      }
    },
    async append(lines) {
      for (const bytes of batches(lines, maxBytes)) {
        const target = openFor(bytes.length)
        let written = 0
        try {
          while (written < bytes.length)
            written += (await writeAsync(target.descriptor, bytes, written, bytes.length - written, null)).bytesWritten
          target.size += bytes.length
        } catch (error) {
          discardPartialLine(written)
          close()
          throw error
        }
      }
    },
    close,
  }
}

const writeAsync = promisify(write)

function openFile({ path, root }: RotatingFileOptions): { descriptor: number; size: number } {
  const directory = dirname(path)
  ensureDirectory(directory, 0o700)
  if (root !== undefined) rejectOutside(root, directory)
  const descriptor = openSync(path, O_RDWR | O_APPEND | O_CREAT | (root === undefined ? 0 : O_NOFOLLOW), ownerOnlyMode)
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) return { descriptor, size: 0 }
    fchmodSync(descriptor, ownerOnlyMode)
    const { size } = stats
    // A full disk or a killed process may have left an incomplete line.
    if (size === 0 || endsWithNewline(descriptor, size)) return { descriptor, size }
    writeSync(descriptor, '\n')
    return { descriptor, size: size + 1 }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

function rejectOutside(root: string, directory: string): void {
  const inside = relative(realpathSync(root), realpathSync(directory))
  if (inside === '..' || inside.startsWith(`..${sep}`)) throw new Error(`${directory} is outside ${root}`)
}

function endsWithNewline(descriptor: number, size: number): boolean {
  const last = Buffer.alloc(1)
  readSync(descriptor, last, 0, 1, size - 1)
  return last[0] === newline
}

/** Lines joined into pieces of at most `maxBytes`. */
function* batches(lines: readonly string[], maxBytes: number): Generator<Buffer> {
  let text = ''
  let bytes = 0
  for (const line of lines) {
    const lineBytes = Buffer.byteLength(line) + 1
    if (bytes > 0 && bytes + lineBytes > maxBytes) {
      yield Buffer.from(text)
      text = ''
      bytes = 0
    }
    text += `${line}\n`
    bytes += lineBytes
  }
  if (bytes > 0) yield Buffer.from(text)
}

function renameIfExists(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}
