/**
 * The HTTP routes of uploads: a client sends a file in pieces before the message that names it.
 */
import { HermesError } from '../lib/errors.ts'
import { parseInput } from '../lib/parse-input.ts'
import type { UploadRequest, Uploads } from '../media/uploads.ts'
import { maxShownImages } from '../message/event.ts'
import { pieceQuery, uploadBody } from './management-shapes.ts'

export interface UploadRequestDeps {
  readonly uploads: Uploads
  /** `media.max_mb` in bytes. */
  readonly maxBytes: number
}

/** Proxies accept bodies of one megabyte, and a piece must arrive within a minute, also over a slow phone. */
const pieceBytes = 500_000

/** Answers a request below `/api/uploads`. Throws `http/bad-request`, `media/…`, `store/full`. */
export async function handleUploadRequest(
  request: Request,
  { uploads, maxBytes }: UploadRequestDeps,
): Promise<Response> {
  const url = new URL(request.url)
  const id = url.pathname.slice('/api/uploads/'.length)
  if (id === '' && request.method === 'GET')
    return Response.json({ max_bytes: maxBytes, max_files: maxShownImages, piece_bytes: pieceBytes })
  if (id === '') return Response.json(await uploads.begin(await parseBegin(request)), { status: 201 })
  if (request.method === 'GET') return Response.json(await uploads.state(id))
  if (request.method === 'POST')
    return Response.json(
      await uploads.append(
        id,
        parseInput(pieceQuery, Object.fromEntries(url.searchParams)).from,
        await request.bytes(),
      ),
    )
  await uploads.remove(id)
  return Response.json({ ok: true })
}

async function parseBegin(request: Request): Promise<UploadRequest> {
  const body = await request.json().catch((cause: unknown) => {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
  })
  const { id, bytes, name, type } = parseInput(uploadBody, body)
  return { id, bytes, fileName: name.toWellFormed().slice(0, 200), mimeType: type.slice(0, 200) }
}
