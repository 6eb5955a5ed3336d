/**
 * A local server with OpenAI's wire format for transcription, speech and pictures, and with that of FAL. It reads forms as a server
 * of the vendor does.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { asRecord } from '../../../src/lib/json.ts'

export interface MediaRequest {
  readonly path: string
  readonly authorization: string
  /** The fields of a form, or of a JSON body. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly file?: { readonly name: string; readonly type: string; readonly bytes: Uint8Array }
  readonly contentLength: number
  /** The origin of the server. */
  readonly origin: string
}

export interface MediaReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  readonly bytes?: Uint8Array
  /** Waited for before the answer. */
  readonly gate?: Promise<unknown>
}

export interface MediaServer {
  /** `http://…/v1` */
  readonly baseUrl: string
  readonly origin: string
  /** Oldest first. */
  readonly requests: readonly MediaRequest[]
  /** Resolves with the request of this number (0 is the first). */
  request(number: number): Promise<MediaRequest>
}

/** An Ogg file with Opus, of one page that says how long it is. */
export function oggOpus(seconds: number, marker = ''): Buffer {
  const page = Buffer.alloc(14)
  page.write('OggS', 'latin1')
  page.writeBigInt64LE(BigInt(Math.round(seconds * 48_000)), 6)
  return Buffer.concat([Buffer.from(`OggS\0\x02${'\0'.repeat(22)}OpusHead${marker}`, 'latin1'), page])
}

/** A PNG with one pixel. */
export const onePixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** What the vendors answer when all is well. */
export function defaultMediaReply({ path, fields, origin }: MediaRequest): MediaReply {
  if (path === '/picture.png') return { bytes: onePixel }
  if (path === '/v1/audio/transcriptions') return { json: { text: 'hello from the recording' } }
  if (path === '/v1/audio/speech') return { bytes: oggOpus(2, String(fields['input'])) }
  if (path === '/v1/images/generations')
    return { json: { created: 1, data: [{ b64_json: onePixel.toString('base64') }] } }
  if (path.startsWith('/fal-ai/'))
    return { json: { images: [{ url: `${origin}/picture.png` }], has_nsfw_concepts: [false] } }
  return { status: 404, json: { error: { message: `nothing at ${path}`, type: 'invalid_request_error' } } }
}

/** Stopped when the test ends. */
export async function startMediaServer(
  t: TestContext,
  reply: (request: MediaRequest) => MediaReply | undefined = () => undefined,
): Promise<MediaServer> {
  const requests: MediaRequest[] = []
  const waiting = new Map<number, (request: MediaRequest) => void>()
  let origin = ''

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming, origin)
    requests.push(request)
    waiting.get(requests.length - 1)?.(request)
    const { status = 200, headers = {}, json, bytes, gate } = reply(request) ?? defaultMediaReply(request)
    await gate
    const type = json === undefined ? 'application/octet-stream' : 'application/json'
    response.writeHead(status, { 'content-type': type, ...headers })
    response.end(json === undefined ? (bytes ?? '') : JSON.stringify(json))
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    baseUrl: `${origin}/v1`,
    origin,
    requests,
    request: (number) => {
      const known = requests[number]
      return known === undefined ? new Promise((resolve) => waiting.set(number, resolve)) : Promise.resolve(known)
    },
  }
}

async function readRequest(incoming: IncomingMessage, origin: string): Promise<MediaRequest> {
  const parts: Buffer[] = []
  for await (const part of incoming) if (part instanceof Buffer) parts.push(part)
  const body = Buffer.concat(parts)
  const type = incoming.headers['content-type'] ?? ''
  const known = {
    path: new URL(incoming.url ?? '/', origin).pathname,
    authorization: incoming.headers.authorization ?? '',
    contentLength: Number(incoming.headers['content-length'] ?? -1),
    origin,
  }
  if (!type.startsWith('multipart/form-data'))
    return { ...known, fields: body.length === 0 ? {} : asRecord(JSON.parse(body.toString('utf8'))) }
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  const file = form.get('file')
  const fields = Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'))
  if (!(file instanceof File)) return { ...known, fields }
  const { name, type: fileType } = file
  return { ...known, fields, file: { name, type: fileType, bytes: await file.bytes() } }
}
