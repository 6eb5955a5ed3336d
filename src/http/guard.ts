/**
 * The way in: every request passes these checks, in this order, before its body is read.
 * Pure: the same request and readiness give the same verdict.
 */
import { HermesError } from '../lib/errors.ts'
import type { HttpRoute } from '../platforms/adapter.ts'
import type { AddressCheck } from './access.ts'
import { createErrorResponse, type JsonResponse } from './json-response.ts'
import { createReadinessResponse, livenessResponse, type Readiness } from './readiness.ts'
import type { RouteTable } from './route-table.ts'

export interface RequestHead {
  readonly method: string
  /** The request target as it came over the wire. */
  readonly target: string
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly authorization: string | undefined
}

export interface GuardDeps {
  readonly addresses: AddressCheck
  readonly table: RouteTable
  readonly readiness: () => Readiness
  /** May throw when the token itself cannot be read. */
  readonly isAuthorised: (authorization: string | undefined) => boolean
}

/** Either the answer that ends the request here, or the route that serves it. */
export type GuardDecision =
  | { readonly admitted: false; readonly answer: JsonResponse }
  | { readonly admitted: true; readonly route: HttpRoute; readonly url: URL }

export function guard(arrival: RequestHead, deps: GuardDeps): GuardDecision {
  const { addresses, table, readiness, isAuthorised } = deps
  if (!addresses.allowsHost(arrival.host)) return deny('http/forbidden-host', `Host: ${quoteHeader(arrival.host)}`)
  if (!addresses.allowsOrigin(arrival.origin, arrival.host)) {
    return deny('http/forbidden-host', `Origin: ${quoteHeader(arrival.origin)}`)
  }
  // Only the path form: an absolute target would carry a second host that nobody has checked.
  const url = arrival.target.startsWith('/') ? URL.parse(`http://${arrival.host}${arrival.target}`) : null
  if (url === null) return deny('http/bad-request', 'The request target is not a path.')

  const method = arrival.method === 'HEAD' ? 'GET' : arrival.method
  if (method === 'GET' && url.pathname === '/healthz') return { admitted: false, answer: livenessResponse }
  if (method === 'GET' && url.pathname === '/readyz') {
    return { admitted: false, answer: createReadinessResponse(readiness(), isAuthorised(arrival.authorization)) }
  }

  const methods = table.find(url.pathname)
  if (methods === undefined && readiness().connecting === true) return denyWhileStarting()
  const entry = methods?.get(method)
  const open = methods !== undefined && [...methods.values()].some(({ route }) => route.access !== 'token')
  // Strangers learn nothing of which addresses exist.
  if ((entry === undefined ? !open : entry.route.access === 'token') && !isAuthorised(arrival.authorization)) {
    return deny('http/unauthorised', '', { 'www-authenticate': 'Bearer realm="hermes"' })
  }
  if (methods === undefined) return deny('http/not-found', url.pathname)
  if (entry === undefined) {
    const allow = [...methods.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ')
    return deny('http/method-not-allowed', `${arrival.method}; allowed: ${allow}.`, { allow })
  }
  if (!entry.alwaysAvailable && entry.route.access !== 'public' && readiness().status !== 'ready')
    return denyWhileStarting()
  return { admitted: true, route: entry.route, url }
}

function deny(
  code: ConstructorParameters<typeof HermesError>[0],
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): GuardDecision {
  return { admitted: false, answer: createErrorResponse(new HermesError(code, detail), headers) }
}

function denyWhileStarting(): GuardDecision {
  return deny('http/starting', '', { 'retry-after': '1' })
}

/** A header of a stranger, short and harmless enough to be repeated. */
function quoteHeader(header: string | undefined): string {
  return header === undefined ? '(none)' : JSON.stringify(header.slice(0, 100))
}
