/**
 * Reads a backup and compares every file with the manifest.
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { HermesError, messageOf, systemCode } from '../../lib/errors.ts'
import { parseJson } from '../../lib/json.ts'
import { readTar } from '../../lib/tar-reader.ts'
import { type BackupManifest, manifestFormat, manifestName, manifestShape, namesOf } from './manifest.ts'

export interface BackupFile {
  /** Relative to the home, without `..`. */
  readonly path: string
  readonly isDirectory: boolean
  readonly mode: number
  readonly content: AsyncIterable<Buffer>
}

/**
 * @param save reads the content of a file; without it, the backup is only checked
 * Rejects `backup/damaged`, `backup/newer`, `cli/not-found`, and what `save` rejects as `cli/failed`.
 */
export async function readBackup(
  file: string,
  save: (file: BackupFile) => Promise<void> = readOnly,
): Promise<BackupManifest> {
  const files = new Map<string, { readonly size: number; readonly sha256: string }>()
  const packed = createReadStream(file)
  const unpacked = createGunzip()
  packed.once('error', (error) => unpacked.destroy(error))
  packed.pipe(unpacked)
  let manifest: BackupManifest | undefined
  try {
    for await (const { type, name, size, mode, content } of readTar(unpacked)) {
      if (manifest !== undefined) throw damaged(file, 'it goes on after its manifest')
      if (name === manifestName) {
        manifest = await readManifest(file, content)
        continue
      }
      const path = pathOf(file, name)
      const isDirectory = type === '5'
      if ((!isDirectory && type !== '0') || files.has(path)) throw damaged(file, `${path} is no file of a backup`)
      const hash = createHash('sha256')
      await save({ path, isDirectory, mode: mode & 0o777, content: hashed(content, hash) })
      if (!isDirectory) files.set(path, { size, sha256: hash.digest('hex') })
    }
  } catch (error) {
    throw toBackupError(file, error)
  } finally {
    packed.destroy()
  }
  if (manifest === undefined) throw damaged(file, 'it has no manifest')
  const wrong = manifest.files.find(({ path, size, sha256 }) => {
    const read = files.get(path)
    return read?.size !== size || read.sha256 !== sha256
  })
  if (wrong !== undefined) throw damaged(file, `${wrong.path} is not as it was written`)
  if (manifest.files.length !== files.size) throw damaged(file, 'it has files that its manifest does not name')
  return manifest
}

async function readOnly({ content }: BackupFile): Promise<void> {
  for await (const _ of content);
}

async function* hashed(content: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}

async function readManifest(file: string, content: AsyncIterable<Buffer>): Promise<BackupManifest> {
  const chunks: Buffer[] = []
  for await (const chunk of content) chunks.push(chunk)
  const { data } = manifestShape.safeParse(parseJson(Buffer.concat(chunks).toString('utf8')))
  if (data === undefined) throw damaged(file, 'its manifest cannot be read')
  if (data.format > manifestFormat)
    throw new HermesError('backup/newer', `It was written by version ${data.version}. (${file})`)
  return data
}

const allNames: ReadonlySet<string> = new Set(namesOf({ media: true, secrets: true }))

/** Nothing is written elsewhere in the home, or outside of it. */
function pathOf(file: string, name: string): string {
  const path = name.replace(/\/$/, '')
  const parts = path.split('/')
  const isInside = allNames.has(parts[0] ?? '') && parts.every((part) => !/^\.{0,2}$|[\\\0]/.test(part))
  if (!isInside) throw damaged(file, `${JSON.stringify(name.slice(0, 100))} is no file of a backup`)
  return path
}

function toBackupError(file: string, error: unknown): HermesError {
  if (error instanceof HermesError) return error
  if (systemCode(error) === 'ENOENT') return new HermesError('cli/not-found', `There is no file ${file}.`)
  const isSystemError = error instanceof Error && 'syscall' in error
  return isSystemError
    ? new HermesError('cli/failed', messageOf(error), { cause: error })
    : damaged(file, messageOf(error), error)
}

export function damaged(file: string, reason: string, cause?: unknown): HermesError {
  return new HermesError('backup/damaged', `(${file}: ${reason})`, { cause })
}
