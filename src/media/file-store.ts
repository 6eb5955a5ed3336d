/**
 * The files of messages under `$HERMES_HOME/media`. A file is named after its content, so that the same file is stored once.
 * Pictures that models can look at are in the folder of pictures, the others beside it.
 */
import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, link, open, realpath, rename, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HermesError, isHermesError, systemCode } from '../lib/errors.ts'
import { ensureDirectory, isOpenedAt, openExactly } from '../lib/files.ts'
import type { Attachment } from '../message/event.ts'
import type { FileToStore, OpenedFile } from '../platforms/context.ts'
import { openAtomicFile } from './atomic-file.ts'
import { type DeclaredFile, detectContent, type InspectedFile, inspectFile } from './inspect-file.ts'

export interface FileStoreDeps {
  /** `$HERMES_HOME/media`. */
  readonly folder: string
  /** `$HERMES_HOME/media/pictures`. */
  readonly pictures: string
  readonly clock: () => number
  readonly maxBytes: () => number
}

/** Contains the files that are named after their content and are no pictures. */
const storedFolder = 'files'

/**
 * Stores what is read, and nothing if it cannot be read to its end.
 * Throws `media/too-large`, `store/full`, or the error of the content.
 */
export async function storeFile(
  content: AsyncIterable<Uint8Array>,
  { name, ...declared }: FileToStore,
  deps: FileStoreDeps,
): Promise<Attachment> {
  const limit = deps.maxBytes()
  const hash = createHash('sha256')
  let bytes = 0
  return await withFullDisk(async () => {
    const target = await openAtomicFile(join(deps.folder, name?.folder ?? storedFolder))
    try {
      for await (const piece of content) {
        bytes += piece.length
        if (bytes > limit) throw tooLarge(limit)
        hash.update(piece)
        await target.write(piece)
      }
      const inspected = await inspectFile(target.path, declared, deps.pictures)
      const path =
        name === undefined && inspected.picture !== undefined
          ? inspected.picture.path
          : await target.commit(name?.name ?? contentName(hash.digest('hex'), inspected))
      return toAttachment(path, bytes, declared, inspected)
    } finally {
      await target.discard()
    }
  })
}

/** Stores like `storeFile`, for a complete file of the same file system, which stays where it is. */
export async function linkFile(path: string, declared: DeclaredFile, deps: FileStoreDeps): Promise<Attachment> {
  return await withFullDisk(async () => {
    const inspected = await inspectFile(path, declared, deps.pictures)
    const hash = createHash('sha256')
    let bytes = 0
    for await (const piece of (await open(path)).createReadStream()) {
      bytes += piece.length
      hash.update(piece)
    }
    if (inspected.picture !== undefined) return toAttachment(inspected.picture.path, bytes, declared, inspected)
    ensureDirectory(join(deps.folder, storedFolder))
    const target = join(deps.folder, storedFolder, contentName(hash.digest('hex'), inspected))
    try {
      await link(path, target)
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error
      if ((await stat(target)).size !== bytes) await replaceByLink(path, target)
    }
    // The oldest files are removed first.
    const now = deps.clock() / 1_000
    await utimes(target, now, now)
    return toAttachment(target, bytes, declared, inspected)
  })
}

/** For a stored file that was damaged. Complete at each moment. */
async function replaceByLink(path: string, target: string): Promise<void> {
  const unfinished = join(dirname(target), `.${randomBytes(8).toString('hex')}.part`)
  await link(path, unfinished)
  await rename(unfinished, target)
}

/** A path below the folder: a directory and a name. Uploads and unfinished files are not served. */
const servedPath = /^(?!uploads\/)[a-z0-9-]{1,40}\/[\w-][\w.-]{0,199}$/

/** Opens a stored file by its path below the folder. `undefined` when there is none. Throws system errors. */
export async function openStoredFile(name: string, folder: string): Promise<OpenedFile | undefined> {
  if (!servedPath.test(name)) return undefined
  try {
    const path = join(await realpath(folder), name)
    let file: FileHandle | undefined = await openExactly(path)
    try {
      const stats = await file.stat()
      if (!stats.isFile() || !(await isOpenedAt(file, path))) return undefined
      const { mimeType } = await detectContent(file)
      // It closes the file at its end.
      const content = file.createReadStream({ start: 0 })
      file = undefined
      return { mimeType, bytes: stats.size, content, close: () => content.destroy() }
    } finally {
      await file?.close()
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}

export function tooLarge(limit: number): HermesError {
  return new HermesError('media/too-large', `The limit is ${Math.floor(limit / 104_857.6) / 10} MB.`)
}

/** Throws `store/full` for a full disk, and every other error as it is. */
export async function withFullDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isHermesError(error) || !['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) throw error
    throw new HermesError('store/full', 'The file was not stored.', { cause: error })
  }
}

function contentName(hash: string, { extension }: InspectedFile): string {
  return `${hash}.${extension}`
}

function toAttachment(
  path: string,
  bytes: number,
  { fileName }: DeclaredFile,
  { kind, mimeType, picture, problem }: InspectedFile,
): Attachment {
  return {
    kind,
    path,
    mimeType,
    bytes,
    fileName,
    image: picture?.image,
    hidden: problem,
  }
}
