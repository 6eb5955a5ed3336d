/**
 * Fastify, set up to do what this server needs of it: listen, limit, read bodies as bytes, stop.
 */
import type { Socket } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { localOrigin } from '../lib/local-origin.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Connections } from './connections.ts'
import { createErrorResponse, defaultHeaders, type JsonResponse } from './json-response.ts'

export interface ServerLimits {
  /** Time for a client to send its headers, and its whole request. Responses have no limit. */
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** How often those two are looked at. */
  readonly connectionCheckIntervalMs: number
  /** What responses under way get when the server stops. */
  readonly graceMs: number
}

export interface ListeningAddress {
  readonly host: string
  readonly port: number
  /** An address a browser on this machine can open. */
  readonly url: string
}

/**
 * Leaves out what is not used: no logger, no schemas (loading their compilers is a third of the start cost), and every
 * path leads to the one route '/', since paths are looked up in our own table.
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
    // Readiness says it in our own words.
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

/** Throws `http/port-in-use` or `http/cannot-listen`; the listener is closed then. */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<ListeningAddress> {
  // One listener: for the name `localhost` the framework would open a second server that a stop cannot cut.
  const address = host === 'localhost' ? '127.0.0.1' : host
  try {
    await app.listen({ host: address, port })
  } catch (cause) {
    await app.close()
    const where = `${host}:${port}`
    if (systemCode(cause) === 'EADDRINUSE') throw new HermesError('http/port-in-use', where, { cause })
    throw new HermesError('http/cannot-listen', `${where}: ${messageOf(cause)}`, { cause })
  }
  const bound = app.server.address()
  const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port
  return { host, port: boundPort, url: localOrigin(address, boundPort) }
}

/** Ends idle connections at once and the others after `graceMs`. */
export async function close(app: FastifyInstance, connections: Connections, graceMs: number): Promise<void> {
  const closed = app.close()
  connections.drain()
  if ((await withTimeout(closed, graceMs)).done) return
  app.server.closeAllConnections()
  await closed
}

/** What the framework says about a body it could not read; null for everything else. */
export function toFramingErrorResponse(error: unknown): JsonResponse | null {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return null
  if (error.statusCode === 413) return createErrorResponse(new HermesError('http/too-large'))
  if (error.statusCode < 400 || error.statusCode > 499) return null
  return createErrorResponse(new HermesError('http/bad-request', error.message), {}, error.statusCode)
}

/** Answers what is not even HTTP, too large in its headers or too slow, and ends the connection. */
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
