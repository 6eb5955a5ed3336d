/**
 * The HTTP server of the gateway: it checks a request, reads its body, finds the route and sends the response. Routes are looked
 * up in our own table, because platforms add them after the server has started.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { lazy } from '../lib/cache.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { HttpRoute } from '../platforms/http-route.ts'
import { type AddressCheck, createAddressCheck, isBearerToken } from './access.ts'
import { type BodyMemoryLimiter, createBodyMemoryLimiter } from './body-memory-limiter.ts'
import type { HttpSettings } from './config.ts'
import { corsHeaders, isPreflight, preflightHeaders } from './cors.ts'
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
  trackConnections,
} from './listener.ts'
import type { Readiness } from './readiness.ts'
import { createRouteTable, type RouteTable } from './route-table.ts'

export interface HttpServerDeps {
  readonly settings: Pick<HttpSettings, 'host' | 'port' | 'max_body_mb'>
  /** The addresses that may send requests. Called for every request, because the configuration may change. */
  readonly allowed: () => Pick<HttpSettings, 'allowed_hosts' | 'allowed_origins'>
  /** Called for every request with a token. */
  readonly token: () => string
  readonly readiness: Readiness
  readonly log: Logger
  /** Routes from the start. */
  readonly routes?: readonly HttpRoute[]
  /** Routes of the gateway itself, which are also served while it is starting or draining. */
  readonly adminRoutes?: readonly HttpRoute[]
  /** Further such routes, which are loaded with the first request for a path that begins with the prefix. */
  readonly lazyRoutes?: { readonly prefix: string; load(): Promise<readonly HttpRoute[]> }
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
  /** Accepts no more connections and closes active ones after `graceMs`. May be called twice. */
  stop(): Promise<void>
  /** Adds a route at any time. Returns a function that removes it. */
  route(route: HttpRoute): () => void
  /** All routes of now. */
  routes(): readonly HttpRoute[]
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision of the guard, set before the body is read. */
    decision: Extract<GuardDecision, { admitted: true }> | null
  }
}

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { settings, log } = deps
  const limits = { ...defaultLimits, ...deps.limits }
  const table = createRouteTable()
  for (const route of deps.routes ?? []) table.add({ route, alwaysAvailable: false })
  for (const route of deps.adminRoutes ?? []) table.add({ route, alwaysAvailable: true })
  const app = createListener(settings.max_body_mb, limits)
  const connections = trackConnections(app.server)
  addAdmissionCheck(app, deps, table, createRouteLoader(deps, table))
  addRouteHandlers(app, log)
  let stopped: Promise<void> | undefined
  return {
    start: () => listen(app, settings.host, settings.port),
    stop() {
      stopped ??= close(app, connections, limits.graceMs)
      return stopped
    },
    route: (route) => table.add({ route, alwaysAvailable: false }),
    routes: table.list,
  }
}

/** Loads `lazyRoutes` for a request that may need them. Undefined: nothing is to be loaded for it. */
function createRouteLoader(
  { lazyRoutes }: HttpServerDeps,
  table: RouteTable,
): (target: string) => Promise<void> | undefined {
  if (lazyRoutes === undefined) return () => undefined
  let isLoaded = false
  const load = lazy(async () => {
    for (const route of await lazyRoutes.load()) table.add({ route, alwaysAvailable: true })
    isLoaded = true
  })
  return (target) => {
    const path = isLoaded ? undefined : URL.parse(target, 'http://gateway.invalid')?.pathname
    return path?.startsWith(lazyRoutes.prefix) === true ? load() : undefined
  }
}

/** Decides on the head of each request. A rejected request is answered before its body is read. */
function addAdmissionCheck(
  app: FastifyInstance,
  deps: HttpServerDeps,
  table: RouteTable,
  loadRoutes: ReturnType<typeof createRouteLoader>,
): void {
  const { settings, token, readiness, log } = deps
  const isAuthorised = (header: string | undefined) => header !== undefined && isBearerToken(header, token())
  const currentAddresses = followAddressRules(deps)
  const bodyMemory = createBodyMemoryLimiter(bodyBytes(settings.max_body_mb))
  app.decorateRequest('decision', null)
  app.addHook('onRequest', (request, reply, done) => {
    const loading = loadRoutes(request.originalUrl)
    if (loading === undefined) admit(request, reply, done)
    else loading.then(() => admit(request, reply, done)).catch(done)
  })
  const admit = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const { host, origin, authorization } = request.headers
    const head = { method: request.method, target: request.originalUrl, host, origin, authorization }
    const addresses = currentAddresses()
    const isShared = addresses.allowsHost(host) && addresses.sharesWith(origin)
    if (isShared) for (const [name, value] of corsHeaders(origin)) reply.raw.setHeader(name, value)
    if (isShared && isPreflight(request)) {
      // No token: the browser asks before it sends the request.
      for (const [name, value] of preflightHeaders(request)) reply.raw.setHeader(name, value)
      reply.raw.writeHead(204).end()
      return
    }
    const decision = reserveBodyMemory(
      bodyMemory,
      guard(head, { addresses, table, readiness, isAuthorised }),
      request,
      reply,
    )
    if (decision.admitted) {
      request.decision = decision
      done()
      return
    }
    log.debug(
      { event: 'http.answered_by_gateway', method: request.method, status: decision.response.status },
      'http request answered by the gateway',
    )
    // `done` is not called, so that fastify processes the request no further.
    sendJsonResponse(request, reply, decision.response)
  }
}

/** The check for the rules of the current configuration. */
function followAddressRules({ settings, allowed }: HttpServerDeps): () => AddressCheck {
  let rules = allowed()
  let check = createAddressCheck({ host: settings.host, ...rules })
  return () => {
    const current = allowed()
    if (current !== rules) {
      rules = current
      check = createAddressCheck({ host: settings.host, ...rules })
    }
    return check
  }
}

/** Rejects an admitted request without the token if the memory that such requests share is in use. */
function reserveBodyMemory(
  bodyMemory: BodyMemoryLimiter,
  decision: GuardDecision,
  request: FastifyRequest,
  reply: FastifyReply,
): GuardDecision {
  if (!decision.admitted || decision.route.access === 'token') return decision
  const release = bodyMemory.reserve(request.headers)
  if (release === undefined) {
    return { admitted: false, response: createErrorResponse(new HermesError('http/busy'), { 'retry-after': '5' }) }
  }
  reply.raw.once('close', release)
  return decision
}

/** Serves every path through the table of routes, and errors of fastify in the format of the gateway. */
function addRouteHandlers(app: FastifyInstance, log: Logger): void {
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.decision !== null) await serveRoute(request, reply, request.decision, log)
  }
  app.route({ method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], url: '/', handler: serve })
  app.setNotFoundHandler(serve)
  app.setErrorHandler((error, request, reply) => {
    const framingError = toFramingErrorResponse(error)
    if (framingError === null)
      log.error({ event: 'http.request_failed', method: request.method, err: error }, 'http request failed')
    sendJsonResponse(request, reply, framingError ?? toErrorResponse(error, false))
  })
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
    if (!raw.writableFinished) disconnected.abort(new Error('the client disconnected'))
    log.debug(
      { event: 'http.request_served', method: request.method, route: route.path, status: raw.statusCode },
      'http request served',
    )
  })
  try {
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const webRequest = toRequest({
      method,
      url,
      headers: request.headers,
      body: request.body instanceof Uint8Array ? request.body : undefined,
      signal: disconnected.signal,
      // A route that requires the token does not need to see it.
      omitHeader: route.access === 'token' ? 'authorization' : undefined,
    })
    await sendResponse(raw, await route.handle(webRequest), request.method === 'HEAD')
  } catch (error) {
    if (disconnected.signal.aborted) {
      log.debug(
        { event: 'http.client_disconnected', method: request.method, route: route.path, reason: messageOf(error) },
        'client disconnected',
      )
      return
    }
    const response = toErrorResponse(error, route.access === 'token')
    if (response.status >= 500)
      log.error(
        { event: 'http.route_failed', method: request.method, route: route.path, err: error },
        'http route failed',
      )
    if (!raw.headersSent) {
      raw.writeHead(response.status, { ...defaultHeaders, ...response.headers, 'content-type': 'application/json' })
      raw.end(JSON.stringify(response.body))
    }
  }
}

/** Sends a response of the server itself. Closes the connection if the request body was not read. */
function sendJsonResponse(request: FastifyRequest, reply: FastifyReply, { status, headers, body }: JsonResponse): void {
  const length = request.headers['content-length'] ?? '0'
  const hasUnreadBody = !request.raw.complete && (length !== '0' || request.headers['transfer-encoding'] !== undefined)
  reply
    .code(status)
    .headers({ ...defaultHeaders, ...headers, ...(hasUnreadBody ? { connection: 'close' } : {}) })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body))
}
