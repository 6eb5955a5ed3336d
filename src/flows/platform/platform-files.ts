/**
 * The files of messages, for adapters and for uploads. Loaded with the first file.
 */
import { HermesError } from '../../lib/errors.ts'
import { DownloadError } from '../../media/download-error.ts'
import { type FileStoreDeps, openStoredFile, storeFile, withFullDisk } from '../../media/file-store.ts'
import { maxPictureBytes, PictureRefused, picturePath, storePicture } from '../../media/pictures.ts'
import type { AddressRules } from '../../media/safe-fetch.ts'
import { createUploads, type Uploads } from '../../media/uploads.ts'
import type { FileSource, FileToStore, PlatformFiles } from '../../platforms/context.ts'

export interface FileServices extends PlatformFiles {
  readonly uploads: Uploads
}

const fetchTimeouts = { idleTimeoutMs: 15_000, totalTimeoutMs: 60_000 }

/** @param addresses from which files are fetched; default: public ones */
export function createFileServices(deps: FileStoreDeps, addresses?: AddressRules): FileServices {
  const uploads = createUploads(deps)
  return {
    uploads,
    upload: uploads.take,
    store: (source, about) =>
      withContent(source, addresses, deps.maxBytes(), (content) => storeFile(content, named(source, about), deps)),
    async picture(source) {
      try {
        const image = await withContent(source, addresses, maxPictureBytes, (content) =>
          withFullDisk(() => storePicture(deps.pictures, content)),
        )
        return { image, path: picturePath(deps.pictures, image) }
      } catch (error) {
        throw toPictureError(error)
      }
    },
    open: (name) => openStoredFile(name, deps.folder),
  }
}

async function withContent<Result>(
  source: FileSource,
  addresses: AddressRules | undefined,
  maxBytes: number,
  use: (content: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  if (!('url' in source)) return await use(source)
  const { safeFetch } = await import('../../media/safe-fetch.ts')
  const { url, signal } = source
  const options = { ...fetchTimeouts, ...addresses }
  const received = new TransformStream<Uint8Array, Uint8Array>()
  const writer = received.writable.getWriter()
  const onChunk = async (bytes: Uint8Array) => await writer.write(bytes)
  const fetched = safeFetch({ url, maxBytes }, onChunk, signal, options).then(
    () => writer.close(),
    (error: unknown) => writer.abort(toFetchError(error)),
  )
  try {
    return await use(received.readable)
  } finally {
    // What it rejects with, the content has thrown.
    await fetched.catch(() => undefined)
  }
}

/** The file has the last part of the address as its name, where the sender gave none. */
function named(source: FileSource, about: FileToStore): FileToStore {
  if (!('url' in source) || about.fileName !== undefined) return about
  const last = URL.parse(source.url)?.pathname.split('/').at(-1) ?? ''
  return last === '' ? about : { ...about, fileName: last.slice(0, 200) }
}

function toFetchError(error: unknown): unknown {
  if (!(error instanceof DownloadError)) return error
  const code = error.code === 'too-large' ? 'media/too-large' : 'media/not-fetched'
  return new HermesError(code, sentence(error.message), { cause: error })
}

function toPictureError(error: unknown): unknown {
  const isTooLarge = error instanceof HermesError && error.code === 'media/too-large'
  if (isTooLarge) return new HermesError('media/picture-too-large', error.detail, { cause: error })
  if (!(error instanceof PictureRefused)) return error
  const isSize = error.code === 'too-large' || error.code === 'too-many-pixels'
  const code = isSize ? 'media/picture-too-large' : 'media/picture-refused'
  return new HermesError(code, sentence(error.message), { cause: error })
}

/** `the picture is torn; send it again` → `The picture is torn; send it again.` */
function sentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`
}
