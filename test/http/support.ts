/**
 * A running HTTP server with two routes for every kind of access, and a client that sends exactly the given headers.
 */
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { httpConfig } from '../../src/http/config.ts'
import type { Readiness } from '../../src/http/readiness.ts'
import { createHttpServer, type HttpServer, type HttpServerDeps } from '../../src/http/server.ts'
import type { LogFields, Logger } from '../../src/lib/log.ts'
import type { HttpRoute } from '../../src/platforms/http-route.ts'
import { secret } from './refused-requests.ts'

export { secret }
export const readyState: Readiness = {
  lifecycle: { phase: 'ready' },
  platforms: () => ({ web: { state: 'connected' } }),
  degraded: () => [],
  isConnecting: () => false,
}

export interface LogLine {
  readonly level: string
  readonly fields: LogFields
  readonly message: string
}

export function recordingLog(): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: string) => (fields: LogFields, message: string) => void lines.push({ level, fields, message })
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return { log, lines }
}

export const echoRoutes: readonly HttpRoute[] = (['token', 'public', 'own'] as const).flatMap((access) => [
  { method: 'GET', path: `/${access}`, access, handle: () => Response.json({ access }) },
  { method: 'POST', path: `/${access}`, access, handle: async (asked: Request) => new Response(await asked.bytes()) },
])

export interface RunningServer {
  readonly server: HttpServer
  readonly port: number
  readonly url: string
  readonly lines: LogLine[]
}

/** Stopped when the test ends. */
export async function runServer(
  t: TestContext,
  deps: Partial<HttpServerDeps> & {
    allowed_hosts?: string[]
    allowed_origins?: string[]
    max_body_mb?: number
  } = {},
): Promise<RunningServer> {
  const { log, lines } = recordingLog()
  const settings = httpConfig.http.parse({
    port: 0,
    ...(deps.allowed_hosts === undefined ? {} : { allowed_hosts: deps.allowed_hosts }),
    ...(deps.allowed_origins === undefined ? {} : { allowed_origins: deps.allowed_origins }),
    ...(deps.max_body_mb === undefined ? {} : { max_body_mb: deps.max_body_mb }),
  })
  const server = createHttpServer({
    settings,
    allowed: () => settings,
    token: () => secret,
    readiness: readyState,
    log,
    routes: echoRoutes,
    ...deps,
  })
  const { port, url } = await server.start()
  t.after(() => server.stop())
  return { server, port, url, lines }
}

export interface TestResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** `error.code` of the body, if present. */
  readonly code: string | undefined
}

export interface TestRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: Uint8Array | string
}

export async function sendRequest(
  port: number,
  { method = 'GET', path, headers = {}, body }: TestRequest,
): Promise<TestResponse> {
  const asked = request({ port, host: '127.0.0.1', method, path, headers, agent: false })
  asked.end(body)
  const [response] = await once(asked, 'response')
  const content = await text(response)
  return { status: response.statusCode, headers: response.headers, text: content, code: errorCode(content) }
}

export function withToken(headers: Record<string, string> = {}, token = secret): Record<string, string> {
  return { authorization: `Bearer ${token}`, ...headers }
}

/** Sends raw bytes, for requests that no HTTP client creates. */
export async function sendRaw(port: number, bytes: string): Promise<{ socket: Socket; reply: Promise<string> }> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(bytes)
  return { socket, reply: text(socket) }
}

function errorCode(content: string): string | undefined {
  try {
    return JSON.parse(content)?.error?.code
  } catch {
    return undefined
  }
}
