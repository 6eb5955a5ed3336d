/**
 * The HTTP routes of uploads: a client sends a file in pieces before the message that names it.
 */
import { HermesError } from '../lib/errors.ts'
import { asNumber, asRecord, asString } from '../lib/json.ts'
import type { UploadRequest, Uploads } from '../media/uploads.ts'
import { maxShownImages } from '../message/event.ts'

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
    return Response.json(await uploads.append(id, parsePlace(url.searchParams.get('from')), await request.bytes()))
  await uploads.remove(id)
  return Response.json({ ok: true })
}

function parsePlace(text: string | null): number {
  const from = Number(text ?? Number.NaN)
  if (Number.isSafeInteger(from) && from >= 0) return from
  throw badRequest('from', 'the place of the piece in the file')
}

async function parseBegin(request: Request): Promise<UploadRequest> {
  const body = asRecord(
    await request.json().catch((cause: unknown) => {
      throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
    }),
  )
  const [id, bytes] = [asString(body['id']), asNumber(body['bytes'])]
  if (!/^[A-Za-z0-9_-]{16,64}$/.test(id)) throw badRequest('id', '16 to 64 of A-Z a-z 0-9 _ -')
  if (!Number.isSafeInteger(bytes) || bytes < 1) throw badRequest('bytes', 'the size of the file, 1 at least')
  const fileName = asString(body['name']).toWellFormed().slice(0, 200)
  return { id, bytes, fileName, mimeType: asString(body['type']).slice(0, 200) }
}

function badRequest(field: string, expected: string): HermesError {
  return new HermesError('http/bad-request', `${field}: expected ${expected}.`)
}
