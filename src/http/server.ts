/**
 * The gateway's HTTP server: guard, read, route, answer. Which route serves a path is our own table's business, because
 * platforms bring their routes after the server runs.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { HttpRoute } from '../platforms/adapter.ts'
import { createAddressCheck, isBearerToken } from './access.ts'
import { createBodyMemoryLimiter } from './body-memory-limiter.ts'
import type { HttpSettings } from './config.ts'
import { trackConnections } from './connections.ts'
import { sendResponse, toRequest } from './fetch-api.ts'
import { type GuardDecision, guard } from './guard.ts'
import { createErrorResponse, defaultHeaders, type JsonResponse, toErrorResponse } from './json-response.ts'
import {
  bodyBytes,
  close,
  createListener,
  type ListeningAddress,
  listen,
  type ServerLimits,
  toFramingErrorResponse,
} from './listener.ts'
import type { Readiness } from './readiness.ts'
import { createRouteTable } from './route-table.ts'

export interface HttpServerDeps {
  readonly settings: Pick<HttpSettings, 'host' | 'port' | 'allowed_hosts' | 'max_body_mb'>
  /** Asked for every request that shows a token. */
  readonly token: () => string
  readonly readiness: () => Readiness
  readonly log: Logger
  /** Routes that are there from the start. */
  readonly routes?: readonly HttpRoute[]
  /** Routes of the gateway itself, served while it is starting or draining, too. */
  readonly adminRoutes?: readonly HttpRoute[]
  readonly limits?: Partial<ServerLimits>
}

const defaultLimits: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  connectionCheckIntervalMs: 5_000,
  graceMs: 2_000,
}

export interface HttpServer {
  /** Throws `http/port-in-use` or `http/cannot-listen`. */
  start(): Promise<ListeningAddress>
  /** Takes no more connections, gives responses under way `graceMs`, then cuts them. May be called twice. */
  stop(): Promise<void>
  /** Adds a route at any time; the function given back takes it away again. */
  route(route: HttpRoute): () => void
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the guard decided; set before the body is read. */
    verdict: Extract<GuardDecision, { admitted: true }> | null
  }
}

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { settings, token, readiness, log } = deps
  const limits = { ...defaultLimits, ...deps.limits }
  const table = createRouteTable()
  for (const route of deps.routes ?? []) table.add({ route, alwaysAvailable: false })
  for (const route of deps.adminRoutes ?? []) table.add({ route, alwaysAvailable: true })
  const isAuthorised = (header: string | undefined) => header !== undefined && isBearerToken(header, token())
  const guardDeps = { addresses: createAddressCheck(settings), table, readiness, isAuthorised }

  const app = createListener(settings.max_body_mb, limits)
  const connections = trackConnections(app.server)
  const bodyMemory = createBodyMemoryLimiter(bodyBytes(settings.max_body_mb))
  app.decorateRequest('verdict', null)

  // Without `done` the request ends here: its body is never read.
  app.addHook('onRequest', (request, reply, done) => {
    const { host, origin, authorization } = request.headers
    const arrival = { method: request.method, target: request.originalUrl, host, origin, authorization }
    const verdict = withBodyMemory(guard(arrival, guardDeps), request, reply)
    if (verdict.admitted) {
      request.verdict = verdict
      done()
      return
    }
    log.debug({ method: request.method, status: verdict.answer.status }, 'http request answered by the gateway')
    sendJsonResponse(request, reply, verdict.answer)
  })

  /** Who shows the token may fill the memory; strangers share what there is for them. */
  function withBodyMemory(verdict: GuardDecision, request: FastifyRequest, reply: FastifyReply): GuardDecision {
    if (!verdict.admitted || verdict.route.access === 'token') return verdict
    const leave = bodyMemory.reserve(request.headers)
    if (leave === undefined) {
      return { admitted: false, answer: createErrorResponse(new HermesError('http/busy'), { 'retry-after': '5' }) }
    }
    reply.raw.once('close', leave)
    return verdict
  }

  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.verdict !== null) await serveRoute(request, reply, request.verdict, log)
  }
  app.route({ method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], url: '/', handler: serve })
  app.setNotFoundHandler(serve)

  app.setErrorHandler((error, request, reply) => {
    const refusal = toFramingErrorResponse(error)
    if (refusal === null) log.error({ method: request.method, err: error }, 'an http request failed')
    sendJsonResponse(request, reply, refusal === null ? toErrorResponse(error, false) : refusal)
  })

  let stopped: Promise<void> | undefined
  return {
    start: () => listen(app, settings.host, settings.port),
    stop() {
      stopped ??= close(app, connections, limits.graceMs)
      return stopped
    },
    route: (route) => table.add({ route, alwaysAvailable: false }),
  }
}

async function serveRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, url }: Extract<GuardDecision, { admitted: true }>,
  log: Logger,
): Promise<void> {
  reply.hijack()
  const raw = reply.raw
  const disconnected = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) disconnected.abort(new Error('the client hung up'))
    log.debug({ method: request.method, route: route.path, status: raw.statusCode }, 'http request served')
  })
  try {
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const webRequest = toRequest({
      method,
      url,
      headers: request.headers,
      body: request.body instanceof Uint8Array ? request.body : undefined,
      signal: disconnected.signal,
      // A route behind the token has no need to see it.
      omitHeader: route.access === 'token' ? 'authorization' : undefined,
    })
    await sendResponse(raw, await route.handle(webRequest), request.method === 'HEAD')
  } catch (error) {
    if (disconnected.signal.aborted) {
      log.debug({ method: request.method, route: route.path, reason: messageOf(error) }, 'a client hung up')
      return
    }
    const answer = toErrorResponse(error, route.access === 'token')
    const where = { method: request.method, route: route.path }
    if (answer.status >= 500) log.error({ ...where, err: error }, 'an http route failed')
    if (!raw.headersSent) {
      raw.writeHead(answer.status, { ...defaultHeaders, ...answer.headers, 'content-type': 'application/json' })
      raw.end(JSON.stringify(answer.body))
    }
  }
}

/** Sends an answer of the server itself. With a body still on its way the connection ends: nobody will read it. */
function sendJsonResponse(request: FastifyRequest, reply: FastifyReply, { status, headers, body }: JsonResponse): void {
  const length = request.headers['content-length'] ?? '0'
  const unread = !request.raw.complete && (length !== '0' || request.headers['transfer-encoding'] !== undefined)
  reply
    .code(status)
    .headers({ ...defaultHeaders, ...headers, ...(unread ? { connection: 'close' } : {}) })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body))
}
