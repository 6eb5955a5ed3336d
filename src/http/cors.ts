/**
 * The headers with which a browser lets a page of another origin call the API (CORS). Only for `http.allowed_origins`.
 */
import type { IncomingHttpHeaders } from 'node:http'

interface RequestHead {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

type Headers = readonly (readonly [name: string, value: string])[]

/** Without credentials: the page sends the token itself. */
export function corsHeaders(origin: string | undefined): Headers {
  return [
    ['access-control-allow-origin', origin ?? ''],
    ['access-control-expose-headers', 'x-hermes-session-id, retry-after'],
    ['vary', 'origin'],
  ]
}

/** Whether the browser asks for permission before it sends the request. */
export function isPreflight({ method, headers }: RequestHead): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

export function preflightHeaders({ headers }: RequestHead): Headers {
  const requested = headers['access-control-request-headers']
  return [
    ['access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE'],
    ['access-control-allow-headers', typeof requested === 'string' ? requested : 'authorization, content-type'],
    ['access-control-max-age', '600'],
  ]
}
