/**
 * Stores the pictures of a request as files, before the message is accepted: no base64 reaches the database, and the client learns at
 * once which picture cannot be used. Loaded with the first picture.
 */
import { type Attachment, type ChatMessage, type HermesError, isHermesError, type PlatformFiles } from '#sdk'
import { ApiError, invalidParam } from './errors.ts'
import type { ParsedMessage, ParsedMessages, PictureReference } from './read-messages.ts'

export interface StoredPictures {
  /** The attachments of the last user message. */
  readonly attachments: readonly Attachment[]
  /** The messages before it. */
  readonly history: readonly ChatMessage[]
}

type StoredPicture = Awaited<ReturnType<PlatformFiles['picture']>>

/** Throws `ApiError` with the field of the first picture that cannot be used, or `store/full`. */
export async function storePictures(
  files: Pick<PlatformFiles, 'picture'>,
  { pictures, history }: Pick<ParsedMessages, 'pictures' | 'history'>,
  signal: AbortSignal,
): Promise<StoredPictures> {
  const attachments: Attachment[] = []
  for (const picture of pictures) attachments.push(toAttachment(await store(files, picture, signal)))
  const messages: ChatMessage[] = []
  for (const parsed of history) messages.push(await withPictures(files, parsed, signal))
  return { attachments, history: messages }
}

function toAttachment({ image, path }: StoredPicture): Attachment {
  return { kind: 'photo', path, mimeType: image.mimeType, bytes: image.bytes, image }
}

async function withPictures(
  files: Pick<PlatformFiles, 'picture'>,
  { message, pictures }: ParsedMessage,
  signal: AbortSignal,
): Promise<ChatMessage> {
  if (message.role !== 'user' || pictures.length === 0) return message
  const stored: StoredPicture[] = []
  for (const picture of pictures) stored.push(await store(files, picture, signal))
  // What a model reads that cannot see, as in messages of chats.
  const lines = stored.map(({ path, image }) => `[Attached photo: ${path} (${image.mimeType})]`)
  const content = [...lines, ...(message.content === '' ? [] : [message.content])].join('\n')
  return { ...message, content, images: stored.map(({ image }) => image) }
}

async function store(
  files: Pick<PlatformFiles, 'picture'>,
  { at, url }: PictureReference,
  signal: AbortSignal,
): Promise<StoredPicture> {
  try {
    return await files.picture(isDataUrl(url) ? decodeDataUrl(url, at) : { url, signal })
  } catch (error) {
    throw isHermesError(error) ? toPictureError(error, at) : error
  }
}

function isDataUrl(url: string): boolean {
  return url.slice(0, 5).toLowerCase() === 'data:'
}

/** Larger ones are refused without being decoded. */
const maxDecodedBytes = 6_000_000

async function* decodeDataUrl(url: string, at: string): AsyncGenerator<Uint8Array> {
  const comma = url.indexOf(',')
  const isBase64 = comma !== -1 && /;base64$/i.test(url.slice(0, comma).slice(0, 200))
  const data = url.slice(comma + 1)
  if (!isBase64 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(data))
    throw invalidParam(at, 'expected data:<type>;base64,<base64>', 'invalid_base64')
  if (data.length * 0.75 > maxDecodedBytes)
    throw invalidParam(at, 'the picture is larger than 5 MB; send a smaller one', 'image_too_large')
  yield Buffer.from(data, 'base64')
}

function toPictureError(error: HermesError, at: string): unknown {
  const { detail } = error
  const cause = { param: at, cause: error }
  switch (error.code) {
    case 'media/picture-too-large':
      return new ApiError(400, `${at}: ${detail}`, { ...cause, code: 'image_too_large' })
    case 'media/picture-refused':
      return new ApiError(400, `${at}: ${detail}`, { ...cause, code: 'unsupported_image' })
    case 'media/not-fetched':
      return new ApiError(400, `${at}: ${detail}`, { ...cause, code: 'invalid_image_url' })
    default:
      return error
  }
}
