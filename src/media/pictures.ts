/**
 * The pictures of conversations: each is a file that is stored once, under the hash of its content. Whatever is stored is a
 * picture that the models of all vendors accept. Everything else is refused with a reason for people.
 */
import { createHash } from 'node:crypto'
import { chmod, readFile, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, systemCode } from '../lib/errors.ts'
import { readLimited } from '../lib/read-limited.ts'
import type { ImagePart } from '../message/transcript.ts'
import { openAtomicFile } from './atomic-file.ts'
import { detectFileType, inspectedBytes, pictureExtensions } from './detect-file-type.ts'
import { readPictureFormat } from './picture-format.ts'

/** The smallest limits of the vendors. */
export const maxPictureBytes = 5_000_000
/** Limits the width and the height. */
export const maxPicturePixels = 8_000

export type PictureProblem = 'animated' | 'damaged' | 'not-a-picture' | 'too-large' | 'too-many-pixels' | 'type'

/** The bytes are no picture that models accept. The message says why, for people and for models. */
export class PictureRefused extends CodedError<PictureProblem> {}

/**
 * Stores a picture in the folder of pictures (`home.pictures`) and resolves with the part of a message that refers to it. A
 * picture that is stored already is not written again. At most 5 MB of a stream are read. The type is that of the bytes, whatever
 * the sender says.
 * Rejects with `PictureRefused`, with the error of the stream, or with the system's error.
 */
export async function storePicture(
  folder: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<ImagePart> {
  const bytes = content instanceof Uint8Array ? content : await readLimited(content, maxPictureBytes)
  if (bytes === undefined) throw tooLarge()
  const { mimeType, width, height } = await checkPicture(bytes)
  const file = `${createHash('sha256').update(bytes).digest('hex')}.${pictureExtensions[mimeType]}`
  const part: ImagePart = { type: 'image', file, mimeType, bytes: bytes.length, width, height }
  if (await isStored(folder, part)) return part
  const target = await openAtomicFile(folder)
  try {
    await target.write(bytes)
    const path = await target.commit(file)
    // The umask limits the mode with which a file is created.
    await chmod(path, 0o600)
  } finally {
    await target.discard()
  }
  return part
}

/** Stores like `storePicture`, from a file, which is not changed. */
export async function storePictureFile(folder: string, path: string): Promise<ImagePart> {
  if ((await stat(path)).size > maxPictureBytes) throw tooLarge()
  return await storePicture(folder, await readFile(path))
}

/** The path of a stored picture. */
export function picturePath(folder: string, { file }: Pick<ImagePart, 'file'>): string {
  return join(folder, file)
}

/**
 * Makes the file a new one for the retention as well, because no message names it yet. A file of another length was
 * damaged on disk, and is replaced.
 */
async function isStored(folder: string, part: ImagePart): Promise<boolean> {
  const path = picturePath(folder, part)
  try {
    const now = new Date()
    await utimes(path, now, now)
    return (await stat(path)).size === part.bytes
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}

async function checkPicture(bytes: Uint8Array) {
  if (bytes.length > maxPictureBytes) throw tooLarge()
  const format = readPictureFormat(bytes)
  if (format === undefined) throw await notAPicture(bytes)
  const { mimeType, width, height, isAnimated, isTorn } = format
  if (isTorn || width === 0 || height === 0)
    throw new PictureRefused('damaged', 'the picture is incomplete or damaged; send it again')
  if (width > maxPicturePixels || height > maxPicturePixels) {
    const size = `${width.toLocaleString('en-US')} × ${height.toLocaleString('en-US')}`
    const limit = maxPicturePixels.toLocaleString('en-US')
    throw new PictureRefused(
      'too-many-pixels',
      `the picture has ${size} pixels, and models accept at most ${limit} × ${limit}; send a smaller one`,
    )
  }
  if (isAnimated) throw new PictureRefused('animated', 'models see no animations; send a still picture')
  return { mimeType, width, height }
}

function tooLarge(): PictureRefused {
  return new PictureRefused(
    'too-large',
    `the picture is larger than ${maxPictureBytes / 1_000_000} MB; send a smaller one`,
  )
}

async function notAPicture(bytes: Uint8Array): Promise<PictureRefused> {
  const { mimeType } = await detectFileType(bytes.subarray(0, inspectedBytes), { kind: 'document' })
  if (mimeType in pictureExtensions)
    return new PictureRefused('damaged', 'the picture is incomplete or damaged; send it again')
  if (!mimeType.startsWith('image/')) return new PictureRefused('not-a-picture', `the file is no picture (${mimeType})`)
  return new PictureRefused('type', `models accept no pictures of the type ${mimeType}; send PNG, JPEG, GIF or WebP`)
}
