/**
 * Uploads: files that arrive in pieces before the message that names them. An upload survives a lost connection and a restart,
 * because its state is what lies on disk. One that no message has used is removed after a day. A used one is kept for repeated requests,
 * and does not count against the limits.
 */
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HermesError, systemCode } from '../lib/errors.ts'
import { ensureDirectory, listNames } from '../lib/files.ts'
import { asNumber, asRecord, asString } from '../lib/json.ts'
import type { Attachment } from '../message/event.ts'
import { openAtomicFile } from './atomic-file.ts'
import { type FileStoreDeps, linkFile, tooLarge, withFullDisk } from './file-store.ts'
import { inspectFile } from './inspect-file.ts'

export interface UploadRequest {
  /** Chosen by the client, so that a repeated request is recognised: 16 to 64 of A-Z a-z 0-9 _ -. */
  readonly id: string
  readonly fileName: string
  readonly mimeType: string
  /** The size of the file. */
  readonly bytes: number
}

export interface UploadState {
  readonly id: string
  readonly bytes: number
  /** The first so many bytes have arrived; the next piece starts there. */
  readonly received: number
  /** What the file is by its content; present once it is complete. */
  readonly file?: {
    readonly kind: Attachment['kind']
    readonly mimeType: string
    /** Pixels of a picture that models can look at. */
    readonly width?: number | undefined
    readonly height?: number | undefined
    /** Why models cannot look at a picture, for people. The agent gets it as a file. */
    readonly problem?: string | undefined
  }
}

export interface Uploads {
  /** Begins an upload, or returns the state of the one with this id. Throws `media/…`, `store/full`. */
  begin(request: UploadRequest): Promise<UploadState>
  /**
   * Adds a piece at its place. A piece for another place changes nothing: the client goes on at `received`.
   * Throws `http/bad-request` for more bytes than announced, `media/…`, `store/full`.
   */
  append(id: string, from: number, piece: Uint8Array): Promise<UploadState>
  /** Throws `media/upload-gone`. */
  state(id: string): Promise<UploadState>
  /** Does nothing when there is none. A message that has used the upload keeps its file. */
  remove(id: string): Promise<void>
  /** The attachment of a complete upload. May be called again. Throws `media/upload-gone`, `store/full`. */
  take(id: string): Promise<Attachment>
  /** Removes uploads that began long ago. Returns how many. */
  sweep(): Promise<number>
}

const maxAgeMs = 24 * 60 * 60_000
const maxUsedAgeMs = 60 * 60_000
/** Uploads that no message has used yet, and their size relative to the largest file. */
const maxUploads = 100
const maxFilesOfLargestSize = 20

const idPattern = /^[A-Za-z0-9_-]{16,64}$/

interface Stored extends Omit<UploadRequest, 'id'> {
  readonly beganAt: number
  /** When a message used it first; 0 for never. */
  readonly usedAt: number
}

/** @param deps `folder`: `$HERMES_HOME/media` */
export function createUploads(deps: FileStoreDeps): Uploads {
  const folder = join(deps.folder, 'uploads')
  const contentOf = (id: string) => join(folder, `${id}.part`)
  const aboutOf = (id: string) => join(folder, `${id}.json`)
  /** Uploads that a request is writing to. */
  const busy = new Set<string>()
  let beginning: Promise<unknown> = Promise.resolve()

  return {
    async begin(request) {
      if (request.bytes > deps.maxBytes()) throw tooLarge(deps.maxBytes())
      // One at a time, so that each one sees what the others take.
      const begun = beginning.then(() => begin(request))
      beginning = begun.catch(() => undefined)
      return await begun
    },
    async append(id, from, piece) {
      const { bytes, received } = await stateOf(id)
      if (from !== received || busy.has(id)) return await stateOf(id)
      if (received + piece.length > bytes) {
        throw new HermesError(
          'http/bad-request',
          `The upload was announced with ${bytes} bytes, and more have arrived.`,
        )
      }
      busy.add(id)
      try {
        await withFullDisk(() => write(id, from, piece))
        return await stateOf(id)
      } finally {
        busy.delete(id)
      }
    },
    state: stateOf,
    remove,
    async take(id) {
      const about = await existing(id)
      const { received } = await stateOf(id)
      if (received < about.bytes) throw gone(`Of ${about.bytes} bytes only ${received} have arrived.`)
      const attachment = await linkFile(contentOf(id), about, deps)
      if (about.usedAt === 0) await writeAbout(id, { ...about, usedAt: deps.clock() })
      return attachment
    },
    sweep,
  }

  async function begin({ id, fileName, mimeType, bytes }: UploadRequest): Promise<UploadState> {
    if ((await read(id)) !== undefined) return await stateOf(id)
    await sweep()
    await checkSpace(bytes)
    // What an interrupted removal has left may also be the file of a message.
    await rm(contentOf(id), { force: true })
    await withFullDisk(async () => {
      ensureDirectory(folder)
      await writeFile(contentOf(id), '', { mode: 0o600, flag: 'wx' })
    })
    await writeAbout(id, { fileName, mimeType, bytes, beganAt: deps.clock(), usedAt: 0 })
    return { id, bytes, received: 0 }
  }

  async function writeAbout(id: string, about: Stored): Promise<void> {
    await withFullDisk(async () => {
      const file = await openAtomicFile(folder)
      try {
        await file.write(Buffer.from(JSON.stringify(about)))
        await file.commit(`${id}.json`)
      } finally {
        await file.discard()
      }
    })
  }

  async function write(id: string, from: number, piece: Uint8Array): Promise<void> {
    const file = await open(contentOf(id), 'r+')
    try {
      for (let done = 0; done < piece.length; )
        done += (await file.write(piece, done, piece.length - done, from + done)).bytesWritten
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  async function stateOf(id: string): Promise<UploadState> {
    const { bytes, ...declared } = await existing(id)
    const received = await sizeOf(contentOf(id))
    if (received < bytes) return { id, bytes, received }
    const { kind, mimeType, picture, problem } = await inspectFile(contentOf(id), declared, deps.pictures)
    const { width, height } = picture?.image ?? {}
    return { id, bytes, received, file: { kind, mimeType, width, height, problem } }
  }

  async function existing(id: string): Promise<Stored> {
    const about = await read(id)
    if (about === undefined) throw gone()
    return about
  }

  /** `undefined` for an unknown id, and for the rest of an upload whose start failed. */
  async function read(id: string): Promise<Stored | undefined> {
    if (!idPattern.test(id)) return undefined
    try {
      const about = asRecord(JSON.parse(await readFile(aboutOf(id), 'utf8')))
      return {
        fileName: asString(about['fileName']),
        mimeType: asString(about['mimeType']),
        bytes: asNumber(about['bytes']),
        beganAt: asNumber(about['beganAt']),
        usedAt: asNumber(about['usedAt']),
      }
    } catch (error) {
      if (systemCode(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  async function remove(id: string): Promise<void> {
    if (!idPattern.test(id)) return
    await rm(contentOf(id), { force: true })
    await rm(aboutOf(id), { force: true })
  }

  async function list(): Promise<readonly (Stored & { readonly id: string })[]> {
    const ids = (await listNames(folder)).filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5))
    const all = await Promise.all(ids.map(async (id) => ({ id, about: await read(id) })))
    return all.flatMap(({ id, about }) => (about === undefined ? [] : [{ id, ...about }]))
  }

  async function sweep(): Promise<number> {
    const now = deps.clock()
    const old = (await list()).filter(({ beganAt, usedAt }) =>
      usedAt > 0 ? usedAt < now - maxUsedAgeMs : beganAt < now - maxAgeMs,
    )
    for (const { id } of old) if (!busy.has(id)) await remove(id)
    return old.length
  }

  async function checkSpace(bytes: number): Promise<void> {
    const all = (await list()).filter(({ usedAt }) => usedAt === 0)
    const taken = all.reduce((sum, upload) => sum + upload.bytes, 0)
    if (all.length >= maxUploads || taken + bytes > deps.maxBytes() * maxFilesOfLargestSize) {
      throw new HermesError('media/uploads-full', `There are ${all.length} with ${Math.ceil(taken / 1_048_576)} MB.`)
    }
  }
}

function gone(detail = ''): HermesError {
  return new HermesError('media/upload-gone', detail)
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw gone()
    throw error
  }
}
