/**
 * Configures Fastify to listen, to limit requests, to read bodies as bytes and to stop, and tracks its connections.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { localOrigin } from '../lib/local-origin.ts'
import { withTimeout } from '../lib/timers.ts'
import { createErrorResponse, defaultHeaders, type JsonResponse } from './json-response.ts'

export interface ServerLimits {
  /** Time for a client to send its headers, and its whole request. Responses have no limit. */
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** Interval at which these two are checked. */
  readonly connectionCheckIntervalMs: number
  /** Time for active responses when the server stops. */
  readonly graceMs: number
}

export interface ListeningAddress {
  readonly host: string
  readonly port: number
  /** A URL for a browser on this machine. */
  readonly url: string
}

/**
 * Creates the listener without logger and without schemas, whose compilers are a third of the start cost. Every URL is rewritten
 * to the route '/', because the paths are looked up in our own table.
 */
export function createListener(maxBodyMb: number, limits: ServerLimits): FastifyInstance {
  const app = fastify({
    logger: false,
    schemaController: { compilersFactory: { buildValidator: rejectSchemas, buildSerializer: rejectSchemas } },
    exposeHeadRoutes: false,
    rewriteUrl: () => '/',
    bodyLimit: bodyBytes(maxBodyMb),
    requestTimeout: limits.requestTimeoutMs,
    http: { headersTimeout: limits.headersTimeoutMs, connectionsCheckingInterval: limits.connectionCheckIntervalMs },
    // The guard sends its own 503.
    return503OnClosing: false,
    clientErrorHandler: handleClientError,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  return app
}

/** `http.max_body_mb` in bytes. */
export function bodyBytes(maxBodyMb: number): number {
  return Math.floor(maxBodyMb * 1024 * 1024)
}

function rejectSchemas(): never {
  throw new Error('no route of this server has a schema')
}

/** Throws `http/port-in-use` or `http/cannot-listen` after closing the listener. */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<ListeningAddress> {
  // For `localhost` the framework would open a second server, whose connections a stop cannot close.
  const address = host === 'localhost' ? '127.0.0.1' : host
  try {
    await app.listen({ host: address, port })
  } catch (cause) {
    await app.close()
    const endpoint = `${host}:${port}`
    if (systemCode(cause) === 'EADDRINUSE') throw new HermesError('http/port-in-use', endpoint, { cause })
    throw new HermesError('http/cannot-listen', `${endpoint}: ${messageOf(cause)}`, { cause })
  }
  const bound = app.server.address()
  const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port
  return { host, port: boundPort, url: localOrigin(address, boundPort) }
}

/** Closes idle connections immediately and the others after `graceMs`. */
export async function close(app: FastifyInstance, connections: Connections, graceMs: number): Promise<void> {
  const closed = app.close()
  connections.drain()
  if ((await withTimeout(closed, graceMs)).done) return
  app.server.closeAllConnections()
  await closed
}

/** The response for a body that the framework could not read, otherwise null. */
export function toFramingErrorResponse(error: unknown): JsonResponse | null {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return null
  if (error.statusCode === 413) return createErrorResponse(new HermesError('http/too-large'))
  if (error.statusCode < 400 || error.statusCode > 499) return null
  return createErrorResponse(new HermesError('http/bad-request', error.message), {}, error.statusCode)
}

/** Responds to invalid HTTP, too large headers and slow clients, and closes the connection. */
function handleClientError(error: Error, socket: Socket): void {
  const code = systemCode(error)
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, body } = malformedResponse(code)
  const text = JSON.stringify(body)
  const headers = { ...defaultHeaders, 'content-type': 'application/json', connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const head = [`HTTP/1.1 ${status} Refused`, ...lines, `content-length: ${Buffer.byteLength(text)}`]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}

function malformedResponse(code: string | undefined): JsonResponse {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return createErrorResponse(new HermesError('http/timeout'))
  if (code === 'HPE_HEADER_OVERFLOW') {
    return createErrorResponse(new HermesError('http/bad-request', 'The headers are too large.'), {}, 431)
  }
  return createErrorResponse(new HermesError('http/bad-request', 'This is not valid HTTP.'))
}

type Connections = ReturnType<typeof trackConnections>

export function trackConnections(server: Server) {
  const open = new Set<Socket>()
  const busy = new Map<Socket, number>()
  let draining = false

  server.on('connection', (socket: Socket) => {
    // The server still accepts connections for a moment after the stop began.
    if (draining) {
      socket.destroy()
      return
    }
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      busy.delete(socket)
    })
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    busy.set(socket, (busy.get(socket) ?? 0) + 1)
    response.once('close', () => {
      const left = (busy.get(socket) ?? 1) - 1
      if (left > 0) busy.set(socket, left)
      else busy.delete(socket)
      if (draining && left === 0) socket.destroySoon()
    })
  })

  return {
    /** Closes idle connections now, and the others after their response. */
    drain() {
      draining = true
      for (const socket of open) if (!busy.has(socket)) socket.destroy()
    },
  }
}
