/**
 * Puts the content of pictures into the body of a request while it is sent: the body is a stream, and a file is read and encoded
 * piece by piece, so that no picture is in memory as a whole. Loaded with the first picture.
 */
import { randomUUID } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, systemCode } from '../../lib/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import { asRecord, asString, isRecord } from '../../lib/json.ts'
import type { ModelResponse } from './http-post.ts'
import type { PictureOptions } from './provider-options.ts'
import type { SentContent } from './wire-format.ts'

interface PictureRequest {
  readonly body: JsonObject
  readonly headers: Readonly<Record<string, string>>
  readonly pictures: Pick<PictureOptions, 'folder' | 'onRefused'>
}

/**
 * Sends a request with its pictures. A picture whose file is missing is replaced by a text that says so, and so are all pictures
 * when the provider refuses them: the name of a model does not prove that it reads pictures. Rejects as `send`, or with the system's
 * error.
 */
export async function sendWithPictures(
  request: PictureRequest,
  send: (content: SentContent) => Promise<ModelResponse>,
): Promise<ModelResponse> {
  try {
    return await send(await withPictures(request))
  } catch (error) {
    if (!isRefusalOfPictures(error)) throw error
    const body = asRecord(await replacePictures(request.body, async () => undefined, refusedText))
    const response = await send({ body, headers: request.headers })
    // Another picture may be accepted where this one was too large or damaged.
    if (isRefusalOfAll(error)) request.pictures.onRefused(asString(body['model']))
    return response
  }
}

/** The model takes no pictures at all. */
function isRefusalOfAll(error: unknown): boolean {
  const text = messageOf(error)
  return (
    /support|accept|modal|text.only|vision/i.test(text) &&
    !/large|size|dimension|pixel|format|damaged|decod|process|count|many/i.test(text)
  )
}

const refusingStatuses: readonly unknown[] = [400, 404, 415, 422]

/** The error of an SDK, with the message of the provider. */
function isRefusalOfPictures(error: unknown): boolean {
  if (!(error instanceof Error) || !('status' in error)) return false
  return refusingStatuses.includes(error.status) && /image|picture|vision|modal/i.test(error.message)
}

interface PictureFile {
  readonly path: string
  readonly bytes: number
}

/**
 * The body as a stream of JSON, and the headers with its length. The files must stay as they are until the stream has ended;
 * otherwise it fails.
 */
async function withPictures({ body, headers, pictures: { folder } }: PictureRequest): Promise<SentContent> {
  const marker = `${randomUUID()}:`
  const files: PictureFile[] = []
  const known = new Map<string, PictureFile | undefined>()
  const replaced = await replacePictures(
    body,
    async (name) => {
      const path = join(folder, name)
      if (!known.has(path)) known.set(path, await findFile(path))
      const file = known.get(path)
      if (file === undefined) return undefined
      files.push(file)
      return marker
    },
    missingText,
  )
  const texts = JSON.stringify(replaced).split(marker)
  const bytes =
    texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) +
    files.reduce((sum, file) => sum + 4 * Math.ceil(file.bytes / 3), 0)
  return {
    body: ReadableStream.from(contentOf(texts, files)),
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(bytes) },
  }
}

const missingText = '[This picture cannot be shown: its file is missing on the machine of the gateway.]'
const refusedText = '[This picture cannot be shown: the provider of the model does not accept it.]'

/** A copy of the value. A picture without a marker becomes a text. The markers are asked for in the order of the JSON. */
async function replacePictures(
  value: unknown,
  markerOf: (file: string) => Promise<string | undefined>,
  otherwise: string,
): Promise<unknown> {
  if (Array.isArray(value)) {
    const replaced: unknown[] = []
    for (const item of value) replaced.push(await replacePictures(item, markerOf, otherwise))
    return replaced
  }
  if (!isRecord(value)) return value
  const picture = readPicture(value)
  if (picture !== undefined) {
    const marker = await markerOf(picture.file)
    return marker === undefined ? { type: picture.textType, text: otherwise } : picture.insert(marker)
  }
  const replaced: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) replaced[key] = await replacePictures(item, markerOf, otherwise)
  return replaced
}

interface FoundPicture {
  readonly file: string
  /** The type of a part with text in the same format. */
  readonly textType: 'text' | 'input_text'
  /** The part of the request with this text as the content of the picture. */
  insert(content: string): JsonObject
}

/** The picture of a part in one of the three formats; undefined for any other value. */
function readPicture(part: JsonObject): FoundPicture | undefined {
  switch (part['type']) {
    case 'image_url': {
      const image = asRecord(part['image_url'])
      return parseAddress(image['url'], 'text', (content, mimeType) => ({
        ...part,
        image_url: { ...image, url: `data:${mimeType};base64,${content}` },
      }))
    }
    case 'input_image':
      return parseAddress(part['image_url'], 'input_text', (content, mimeType) => ({
        ...part,
        image_url: `data:${mimeType};base64,${content}`,
      }))
    case 'image':
      return parseAddress(asRecord(part['source'])['url'], 'text', (data, mimeType) => ({
        ...part,
        source: { type: 'base64', media_type: mimeType, data },
      }))
    default:
      return undefined
  }
}

const types: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

const addressPattern = /^hermes-picture:(?<file>[0-9a-f]{64}\.(?<extension>png|jpg|gif|webp))$/

/** Any other address, such as one that a plugin has written, is sent as it is. */
function parseAddress(
  address: unknown,
  textType: FoundPicture['textType'],
  insert: (content: string, mimeType: string) => JsonObject,
): FoundPicture | undefined {
  const { file, extension = '' } = addressPattern.exec(String(address))?.groups ?? {}
  const mimeType = types[extension]
  if (file === undefined || mimeType === undefined) return undefined
  return { file, textType, insert: (content) => insert(content, mimeType) }
}

async function findFile(path: string): Promise<PictureFile | undefined> {
  try {
    const stats = await stat(path)
    return stats.isFile() && stats.size > 0 ? { path, bytes: stats.size } : undefined
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** A multiple of three, which base64 encodes without padding. Small strings cost the least memory. */
const pieceBytes = 3 * 4_096

async function* contentOf(texts: readonly string[], files: readonly PictureFile[]): AsyncGenerator<Uint8Array> {
  for (const [index, text] of texts.entries()) {
    yield Buffer.from(text)
    const file = files[index]
    if (file !== undefined) yield* encoded(file)
  }
}

async function* encoded({ path, bytes }: PictureFile): AsyncGenerator<Uint8Array> {
  const file = await open(path)
  try {
    const piece = Buffer.alloc(Math.min(pieceBytes, bytes))
    for (let at = 0; at < bytes; ) {
      const length = Math.min(piece.length, bytes - at)
      for (let read = 0; read < length; ) {
        const { bytesRead } = await file.read(piece, read, length - read, at + read)
        if (bytesRead === 0) throw new Error('the file of a picture became shorter while it was sent')
        read += bytesRead
      }
      yield Buffer.from(piece.toString('base64', 0, length), 'latin1')
      at += length
    }
  } finally {
    await file.close()
  }
}
