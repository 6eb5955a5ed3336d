/**
 * Checks every request before its body is read: host, origin, path, token and readiness, in this order. Pure: the same request
 * and readiness give the same decision.
 */
import { HermesError } from '../lib/errors.ts'
import type { HttpRoute } from '../platforms/http-route.ts'
import type { AddressCheck } from './access.ts'
import { createErrorResponse, type JsonResponse } from './json-response.ts'
import { createReadinessResponse, livenessResponse, type Readiness } from './readiness.ts'
import type { RouteTable } from './route-table.ts'

export interface RequestHead {
  readonly method: string
  /** The request target as received. */
  readonly target: string
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly authorization: string | undefined
}

export interface GuardDeps {
  readonly addresses: AddressCheck
  readonly table: RouteTable
  readonly readiness: Readiness
  /** Throws if the token cannot be read. */
  readonly isAuthorised: (authorization: string | undefined) => boolean
}

/** The response that rejects the request, or the route that serves it. */
export type GuardDecision =
  | { readonly admitted: false; readonly response: JsonResponse }
  | { readonly admitted: true; readonly route: HttpRoute; readonly url: URL }

export function guard(request: RequestHead, deps: GuardDeps): GuardDecision {
  const { addresses, table, readiness, isAuthorised } = deps
  if (!addresses.allowsHost(request.host)) return deny('http/forbidden-host', `Host: ${quoteHeader(request.host)}`)
  if (!addresses.allowsOrigin(request.origin, request.host)) {
    return deny('http/forbidden-host', `Origin: ${quoteHeader(request.origin)}`)
  }
  // Only paths: an absolute target would contain a second host that is not checked.
  const url = request.target.startsWith('/') ? URL.parse(`http://${request.host}${request.target}`) : null
  if (url === null) return deny('http/bad-request', 'The request target is not a path.')

  const method = request.method === 'HEAD' ? 'GET' : request.method
  // `/health` is the name of Hermes.
  const isHealth = url.pathname === '/healthz' || url.pathname === '/health'
  const isReadiness = url.pathname === '/readyz'
  if ((isHealth || isReadiness) && method !== 'GET') return denyMethod(request.method, ['GET'])
  if (isHealth) return { admitted: false, response: livenessResponse }
  if (isReadiness)
    return { admitted: false, response: createReadinessResponse(readiness, isAuthorised(request.authorization)) }

  const methods = table.find(url.pathname)
  if (methods === undefined && readiness.isConnecting()) return denyWhileStarting()
  const entry = methods?.get(method)
  const isPublic = methods !== undefined && [...methods.values()].some(({ route }) => route.access !== 'token')
  // Without a token, responses do not reveal which paths exist.
  if ((entry === undefined ? !isPublic : entry.route.access === 'token') && !isAuthorised(request.authorization)) {
    return deny('http/unauthorised', '', { 'www-authenticate': 'Bearer realm="hermes"' })
  }
  if (methods === undefined) return deny('http/not-found', url.pathname)
  if (entry === undefined) return denyMethod(request.method, [...methods.keys()])
  if (!entry.alwaysAvailable && entry.route.access !== 'public' && readiness.lifecycle.phase !== 'ready')
    return denyWhileStarting()
  return { admitted: true, route: entry.route, url }
}

function deny(
  code: ConstructorParameters<typeof HermesError>[0],
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): GuardDecision {
  return { admitted: false, response: createErrorResponse(new HermesError(code, detail), headers) }
}

function denyMethod(method: string, existing: readonly string[]): GuardDecision {
  const allow = existing.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ')
  return deny('http/method-not-allowed', `${method}; allowed: ${allow}.`, { allow })
}

function denyWhileStarting(): GuardDecision {
  return deny('http/starting', '', { 'retry-after': '1' })
}

/** An untrusted header, truncated and escaped for a message. */
function quoteHeader(header: string | undefined): string {
  return header === undefined ? '(none)' : JSON.stringify(header.slice(0, 100))
}
