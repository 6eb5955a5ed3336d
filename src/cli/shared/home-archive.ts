/**
 * Writes the files of a home into a compressed tar archive, while a gateway may use them.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createGzip } from 'node:zlib'
import { isSecretName } from '../../config/secrets.ts'
import { HermesError, messageOf, systemCode } from '../../lib/errors.ts'
import { readTextIfExists, syncPath } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { isRecord } from '../../lib/json.ts'
import type { Redactor } from '../../lib/redact.ts'
import { type TarEntry, tarArchive } from '../../lib/tar.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import { editYamlValues } from '../../lib/yaml-edit.ts'
import { copyDatabase } from '../../store/sqlite/backup.ts'
import { isProcessAlive } from '../kit/daemon.ts'

export interface ArchivedHome {
  readonly root: string
  /** Stands before each path in the archive: empty, or a folder with `/`. */
  readonly prefix: string
  /** Whether a file or a folder is left out. Its path is relative to the home. */
  leavesOut(path: string): boolean
  /** Filled with the links and other entries that are no files. */
  readonly skipped: string[]
  /** Returns what the archive has of a file of at most 4 MiB. */
  rewrite?: ((path: string, content: Buffer) => Buffer) | undefined
}

/** Names that are no part of a home, wherever they are. */
const skippedNames: ReadonlySet<string> = new Set(['node_modules', '.git', '__pycache__'])
/** Names that would not come back as they were: with a backslash, a control character, or bytes that are no UTF-8. */
const unstorable = /[\\\p{Cc}\uFFFD]/u
/** A smaller file is read at once, so that one that is replaced meanwhile is the old or the new one. */
const pieceBytes = 4_194_304

/** A file or a folder of the home with all that is in it; nothing if it does not exist. Throws the system's error. */
export function* entriesBelow(home: ArchivedHome, path: string): Generator<TarEntry> {
  if (unstorable.test(basename(path))) return void home.skipped.push(toSingleLine(path))
  const file = join(home.root, path)
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (stats === undefined || skippedNames.has(basename(path)) || home.leavesOut(path)) return
  if (stats.isDirectory()) {
    yield directoryEntry(`${home.prefix}${path}`, stats.mtimeMs)
    for (const name of readdirSync(file).sort()) yield* entriesBelow(home, `${path}/${name}`)
  } else if (stats.isFile())
    yield* fileEntry(file, `${home.prefix}${path}`, (content) => home.rewrite?.(path, content) ?? content)
  else home.skipped.push(path)
}

export function directoryEntry(path: string, modifiedAt = Date.now()): TarEntry {
  return { path: `${path}/`, size: 0, content: [], mode: 0o700, modifiedAt }
}

export function textEntry(path: string, text: string): TarEntry {
  const content = Buffer.from(text)
  return { path, size: content.length, content: [content], mode: 0o600, modifiedAt: Date.now() }
}

/** Yields nothing for a file that is gone. */
function* fileEntry(file: string, path: string, rewrite = (content: Buffer) => content): Generator<TarEntry> {
  const descriptor = openIfExists(file)
  if (descriptor === undefined) return
  try {
    const { size, mode, mtimeMs } = fstatSync(descriptor)
    const entry = { path, mode: mode & 0o777, modifiedAt: mtimeMs }
    if (size > pieceBytes) yield { ...entry, size, content: pieces(descriptor, size) }
    else {
      const content = rewrite(readFileSync(descriptor))
      yield { ...entry, size: content.length, content: [content] }
    }
  } finally {
    closeSync(descriptor)
  }
}

function openIfExists(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** What is written to the file after its size was read is left out. */
function* pieces(descriptor: number, size: number): Generator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const piece = Buffer.alloc(Math.min(pieceBytes, size - at))
    const count = readSync(descriptor, piece, 0, piece.length, at)
    if (count === 0) return
    at += count
    yield piece.subarray(0, count)
  }
}

/**
 * The database as it is at one moment. Yields nothing if there is none. Throws errors of SQLite and of the file system.
 * @param check is called with the path of the copy before it is read
 */
export function* databaseEntry(home: HomeLayout, path: string, check?: (copy: string) => void): Generator<TarEntry> {
  if (statSync(home.databaseFile, { throwIfNoEntry: false }) === undefined) return
  removeOldCopies(home)
  const copy = `${home.databaseFile}.copy-${process.pid}`
  try {
    copyDatabase(home.databaseFile, copy)
    check?.(copy)
    yield* fileEntry(copy, path)
  } finally {
    rmSync(copy, { force: true })
  }
}

/** A process that was killed could not remove its copy. */
export function removeOldCopies(home: HomeLayout): void {
  for (const name of oldDatabaseCopies(home)) rmSync(join(home.root, name), { force: true })
}

/** The names of copies whose process has ended. */
export function oldDatabaseCopies({ root, databaseFile }: HomeLayout): string[] {
  const prefix = `${basename(databaseFile)}.copy-`
  if (!existsSync(root)) return []
  return readdirSync(root).filter((name) => {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN
    return !Number.isNaN(pid) && !isProcessAlive(pid)
  })
}

export interface ConfigFilter {
  readonly redact: Redactor
  /** Whether to remove another value, too. */
  removes?(path: readonly string[], value: unknown): boolean
  readonly removesComments: boolean
}

/**
 * The text of config.yaml without secrets, and the paths of the removed values. References to variables stay: they are no secrets.
 * A command that would be incomplete is removed whole. Throws `config/unreadable`.
 */
export function configWithoutSecrets(
  { configFile }: HomeLayout,
  { redact, removes = () => false, removesComments }: ConfigFilter,
): { readonly text: string; readonly removed: readonly string[] } {
  const isSecret = (path: readonly string[], value: unknown) => {
    if (path.length === 2 && path[0] === 'quick_commands' && isRecord(value))
      return Object.values(value).some((inner) => typeof inner === 'string' && redact(inner) !== inner)
    if (value === '' || value === null || (typeof value === 'string' && /^\$\{\w+\}$/.test(value))) return false
    if (typeof value === 'object') return false
    return path.some(isSecretName) || removes(path, value) || redact(String(value)) !== String(value)
  }
  try {
    const text = readTextIfExists(configFile) ?? ''
    const edited = editYamlValues(text, { remove: isSecret, removesComments })
    return { text: edited.text, removed: edited.removed.map(({ path }) => path.join('.')) }
  } catch (error) {
    throw new HermesError('config/unreadable', `${configFile}: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Writes a new archive (0600), which exists only when it is complete and on disk. Rejects `cli/failed`, and with a `HermesError`
 * of the entries.
 * @param check is called with the archive before it gets its name; its result is that of this function
 */
export async function writeArchive<Result>(
  target: string,
  entries: Iterable<TarEntry>,
  check: (file: string) => Promise<Result>,
): Promise<Result> {
  const unfinished = `${target}.${process.pid}.tmp`
  try {
    await writeEntries(unfinished, entries)
    const result = await check(unfinished)
    renameSync(unfinished, target)
    syncPath(dirname(target))
    return result
  } catch (error) {
    rmSync(unfinished, { force: true })
    if (error instanceof HermesError) throw error
    throw new HermesError('cli/failed', `${target}: ${messageOf(error)}`, { cause: error })
  }
}

async function writeEntries(path: string, entries: Iterable<TarEntry>): Promise<void> {
  const file = openSync(path, 'wx', 0o600)
  try {
    const gzip = createGzip()
    const written = (async () => {
      for await (const chunk of gzip) if (chunk instanceof Uint8Array) writeAll(file, chunk)
    })()
    // Awaited below. A failure of the entries comes first and leaves it alone.
    written.catch(() => undefined)
    for (const block of tarArchive(entries)) {
      if (!gzip.write(block)) await Promise.race([written, new Promise((resume) => gzip.once('drain', resume))])
    }
    gzip.end()
    await written
  } finally {
    closeSync(file)
  }
  syncPath(path)
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}
