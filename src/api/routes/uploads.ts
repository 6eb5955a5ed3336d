/**
 * `/api/uploads`: a client sends a file in pieces before the message that names it.
 */
import { z } from 'zod'
import { maxShownImages } from '../../message/event.ts'
import { defineRoutes } from '../route.ts'
import { okResponse } from '../shapes/common.ts'

const route = defineRoutes('Uploads')

const uploadId = z.string().regex(/^[A-Za-z0-9_-]{16,64}$/, '16 to 64 of A-Z a-z 0-9 _ -')
const uploadResponse = z.looseObject({ id: z.string(), bytes: z.int(), received: z.int() })

/** Proxies accept bodies of one megabyte, and a piece must arrive within a minute, also over a slow phone. */
const pieceBytes = 500_000

export const showUploadLimits = route('GET', '/api/uploads', {
  summary: 'The limits of uploads.',
  response: z.object({ max_bytes: z.int(), max_files: z.int(), piece_bytes: z.int() }),
  handle: async ({ settings }) => ({
    max_bytes: settings().media.max_mb * 1_048_576,
    max_files: maxShownImages,
    piece_bytes: pieceBytes,
  }),
})

export const beginUpload = route('POST', '/api/uploads', {
  summary: 'Begins an upload.',
  body: z.object({
    id: uploadId.describe('Chosen by the client.'),
    bytes: z.int().min(1).describe('The size of the file.'),
    name: z.string().default('').describe('The name of the file.'),
    type: z.string().default('').describe('Its MIME type.'),
  }),
  response: uploadResponse,
  status: 201,
  async handle({ opened }, { body: { id, bytes, name, type } }) {
    const { uploads } = await opened.files()
    const fileName = name.toWellFormed().slice(0, 200)
    return await uploads.begin({ id, bytes, fileName, mimeType: type.slice(0, 200) })
  },
})

export const showUpload = route('GET', '/api/uploads/{upload_id}', {
  summary: 'The state of an upload.',
  response: uploadResponse,
  handle: async ({ opened }, { params }) => await (await opened.files()).uploads.state(params.upload_id),
})

export const addPiece = route('POST', '/api/uploads/{upload_id}', {
  summary: 'Adds a piece, the bytes of the body.',
  query: z.object({
    from: z
      .string()
      .regex(/^\d{1,16}$/, 'the place of the piece in the file')
      .transform(Number)
      .describe('The place of the piece in the file, in bytes.'),
  }),
  body: 'bytes',
  response: uploadResponse,
  async handle({ opened }, { params, query, request }) {
    const { uploads } = await opened.files()
    return await uploads.append(params.upload_id, query.from, await request.bytes())
  },
})

export const removeUpload = route('DELETE', '/api/uploads/{upload_id}', {
  summary: 'Removes an upload.',
  response: okResponse,
  async handle({ opened }, { params }) {
    await (await opened.files()).uploads.remove(params.upload_id)
    return { ok: true }
  },
})
