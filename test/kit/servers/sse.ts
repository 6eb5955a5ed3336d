/**
 * The common half of the local model servers: real HTTP on the loopback, scripted replies, failures on demand, and a
 * record of what came in. The other half, each vendor's wire format, is handed in as `encode`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type JsonObject, type ModelReply, parseObject, type RecordedRequest, splitIntoChunks } from './model-script.ts'

/** One vendor's wire format. */
export interface WireFormat {
  /** What a client takes for its base URL, behind the origin: `/v1` or nothing. */
  readonly basePath: string
  /** One reply as the frames of an event stream, for the API at the request's path; undefined for an unknown path. */
  encode(reply: ModelReply, request: RecordedRequest): readonly string[] | undefined
  /** The body of an error. */
  encodeError(status: number, message: string): JsonObject
}

export interface ModelServer {
  /** To be given to a client. */
  readonly baseUrl: string
  readonly port: number
  /** Oldest first. Empty when recording is off. */
  readonly requests: readonly RecordedRequest[]
  /** How many requests came, recorded or not. */
  readonly requestCount: number
  /** Replies to the next requests, in order. After them the default reply answers. */
  enqueue(...replies: readonly ModelReply[]): void
  setDefault(reply: (request: RecordedRequest) => ModelReply): void
  /** Resolves with the request of this number (0 is the first) as soon as its body has been read. */
  request(number: number): Promise<RecordedRequest>
  /** Ends every connection. May be called twice. */
  stop(): Promise<void>
}

export interface ModelServerOptions {
  readonly replies?: readonly ModelReply[] | undefined
  readonly defaultReply?: ((request: RecordedRequest) => ModelReply) | undefined
  /** The list of models, read for each request. Absent: the server has no list. They are not recorded. */
  readonly models?: () => readonly JsonObject[]
  /** False keeps nothing, for long runs. */
  readonly record?: boolean
}

export async function startModelServer(format: WireFormat, options: ModelServerOptions = {}): Promise<ModelServer> {
  const queue = [...(options.replies ?? [])]
  const requests: RecordedRequest[] = []
  const waiting = new Map<number, (request: RecordedRequest) => void>()
  const isRecording = options.record ?? true
  let defaultReply = options.defaultReply ?? echoReply
  let count = 0

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '/', 'http://localhost')
    if (incoming.method === 'GET' && url.pathname === '/_requests') {
      response.end(JSON.stringify({ count, requests: requests.map(({ closed: _closed, ...plain }) => plain) }))
      return
    }
    if (incoming.method === 'GET' && url.pathname.endsWith('/models')) {
      const list = options.models?.()
      response.writeHead(list === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', data: list }))
      return
    }
    const { request, close } = toRecordedRequest(incoming, url, parseObject(await readBody(incoming)))
    response.once('close', () => close(!response.writableFinished))
    const number = count
    count += 1
    if (isRecording) requests.push(request)
    waiting.get(number)?.(request)
    await sendReply(queue.shift() ?? defaultReply(request), request, response, format)
  }

  const server = createServer((incoming, response) => {
    // A broken connection shows as `closedEarly` in the record; a fault of the script itself is told to the client.
    answer(incoming, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(String(error))
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  let stopping: Promise<void> | undefined

  return {
    baseUrl: `http://127.0.0.1:${port}${format.basePath}`,
    port,
    requests,
    get requestCount() {
      return count
    },
    enqueue: (...replies) => {
      queue.push(...replies)
    },
    setDefault: (reply) => {
      defaultReply = reply
    },
    request: (number) => {
      const known = requests[number]
      return known === undefined ? new Promise((resolve) => waiting.set(number, resolve)) : Promise.resolve(known)
    },
    stop: () => {
      stopping ??= new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      return stopping
    },
  }
}

/** Says what it heard; enough for a whole conversation without a script. */
function echoReply(request: RecordedRequest): ModelReply {
  return { text: `You said: ${request.lastUserText}` }
}

async function sendReply(
  reply: ModelReply,
  request: RecordedRequest,
  response: ServerResponse,
  format: WireFormat,
): Promise<void> {
  if (reply.hang === 'headers') return
  if (reply.error !== undefined) {
    const { status, body = format.encodeError(status, 'scripted error'), headers = {} } = reply.error
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
    return
  }
  if (reply.raw !== undefined) {
    response.writeHead(reply.raw.status ?? 200, { 'content-type': 'text/event-stream', ...reply.raw.headers })
    response.end(reply.raw.body)
    return
  }
  const frames = format.encode(reply, request)
  if (frames === undefined) {
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(format.encodeError(404, `nothing at ${request.path}`)))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...reply.headers })
  const isPlain =
    reply.gate === undefined && reply.delayMs === undefined && reply.cutAfter === undefined && !isAbnormal(reply)
  if (isPlain) response.end(frames.join(''))
  else await sendSlowly(reply, frames, response)
}

function isAbnormal(reply: ModelReply): boolean {
  return (
    reply.garbage !== undefined || reply.hang !== undefined || reply.endAfter !== undefined || reply.endless === true
  )
}

/** Frame by frame, with whatever is to go wrong. */
async function sendSlowly(reply: ModelReply, frames: readonly string[], response: ServerResponse): Promise<void> {
  const last = reply.cutAfter ?? reply.endAfter ?? reply.hangAfter ?? frames.length
  for (const [index, frame] of frames.slice(0, last).entries()) {
    await reply.gate?.(index)
    if (reply.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.delayMs))
    if (response.destroyed) return
    await write(response, frame)
  }
  if (reply.garbage !== undefined) await write(response, `data: ${reply.garbage}\n\n`)
  if (reply.hang === 'stream') return
  if (reply.cutAfter !== undefined) {
    response.destroy()
    return
  }
  const piece = JSON.stringify(splitIntoChunks(reply.text ?? '')[0] ?? '')
  const again = frames.find((frame) => frame.includes(`:${piece}`)) ?? ''
  while (reply.endless === true && !response.destroyed) await write(response, again)
  response.end()
}

/** Resolves when the frame is in the socket's hands, so that an endless stream obeys the reader's pace. */
function write(response: ServerResponse, frame: string): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    response.once('close', resolve)
    response.write(frame, () => {
      response.off('close', resolve)
      resolve()
    })
  })
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of incoming) if (part instanceof Buffer) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

function toRecordedRequest(
  incoming: IncomingMessage,
  url: URL,
  body: JsonObject,
): { request: RecordedRequest; close: (early: boolean) => void } {
  let closedEarly = false
  let tell: (early: boolean) => void = () => undefined
  const closed = new Promise<boolean>((resolve) => {
    tell = resolve
  })
  const request: RecordedRequest = {
    path: url.pathname,
    headers: incoming.headers,
    query: Object.fromEntries(url.searchParams),
    body,
    lastUserText: lastUserText(body),
    get closedEarly() {
      return closedEarly
    },
    closed,
  }
  const close = (early: boolean) => {
    closedEarly = early
    tell(early)
  }
  return { request, close }
}

/** The newest text of a user, whichever of the three formats it is written in. */
function lastUserText(body: JsonObject): string {
  const messages = Array.isArray(body['messages']) ? body['messages'] : body['input']
  if (typeof messages === 'string') return messages
  if (!Array.isArray(messages)) return ''
  for (const message of messages.toReversed()) {
    const { role, content } = parseObject(message)
    if (role !== 'user') continue
    if (typeof content === 'string') return content
    const texts = Array.isArray(content) ? content.map((part) => parseObject(part)['text']) : []
    const found = texts.filter((text) => typeof text === 'string')
    if (found.length > 0) return found.join('\n\n')
  }
  return ''
}
