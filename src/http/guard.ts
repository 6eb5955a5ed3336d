/**
 * The way in: every request passes these checks, in this order, before its body is read.
 * Pure: the same request and readiness give the same verdict.
 */
import { HermesError } from '../lib/errors.ts'
import type { HttpRoute } from '../platforms/adapter.ts'
import type { AddressCheck } from './access.ts'
import { type Answer, errorAnswer } from './answer.ts'
import { alive, type Readiness, readinessAnswer } from './readiness.ts'
import type { RouteTable } from './route-table.ts'

export interface Arrival {
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
export type Verdict =
  | { readonly admitted: false; readonly answer: Answer }
  | { readonly admitted: true; readonly route: HttpRoute; readonly url: URL }

export function guard(arrival: Arrival, deps: GuardDeps): Verdict {
  const { addresses, table, readiness, isAuthorised } = deps
  if (!addresses.host(arrival.host)) return refuse('http/forbidden-host', `Host: ${quote(arrival.host)}`)
  if (!addresses.origin(arrival.origin, arrival.host)) {
    return refuse('http/forbidden-host', `Origin: ${quote(arrival.origin)}`)
  }
  // Only the path form: an absolute target would carry a second host that nobody has checked.
  const url = arrival.target.startsWith('/') ? URL.parse(`http://${arrival.host}${arrival.target}`) : null
  if (url === null) return refuse('http/bad-request', 'The request target is not a path.')

  const method = arrival.method === 'HEAD' ? 'GET' : arrival.method
  if (method === 'GET' && url.pathname === '/healthz') return { admitted: false, answer: alive }
  if (method === 'GET' && url.pathname === '/readyz') {
    return { admitted: false, answer: readinessAnswer(readiness(), isAuthorised(arrival.authorization)) }
  }

  const methods = table.find(url.pathname)
  if (methods === undefined && readiness().settling === true) return startingRefusal()
  const entry = methods?.get(method)
  const open = methods !== undefined && [...methods.values()].some(({ route }) => route.access !== 'token')
  // Strangers learn nothing of which addresses exist.
  if ((entry === undefined ? !open : entry.route.access === 'token') && !isAuthorised(arrival.authorization)) {
    return refuse('http/unauthorised', '', { 'www-authenticate': 'Bearer realm="hermes"' })
  }
  if (methods === undefined) return refuse('http/not-found', url.pathname)
  if (entry === undefined) {
    const allow = [...methods.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ')
    return refuse('http/method-not-allowed', `${arrival.method}; allowed: ${allow}.`, { allow })
  }
  if (!entry.always && entry.route.access !== 'public' && readiness().status !== 'ready') return startingRefusal()
  return { admitted: true, route: entry.route, url }
}

function refuse(
  code: ConstructorParameters<typeof HermesError>[0],
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Verdict {
  return { admitted: false, answer: errorAnswer(new HermesError(code, detail), headers) }
}

function startingRefusal(): Verdict {
  return refuse('http/starting', '', { 'retry-after': '1' })
}

/** A header of a stranger, short and harmless enough to be repeated. */
function quote(header: string | undefined): string {
  return header === undefined ? '(none)' : JSON.stringify(header.slice(0, 100))
}
