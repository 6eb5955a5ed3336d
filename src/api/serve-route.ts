/**
 * Serves a route of the JSON API: parses what the client has sent by the shapes of the route, and sends what its handler returns.
 */

import { HermesError } from '../lib/errors.ts'
import { parseJson } from '../lib/json.ts'
import { parseInput } from '../lib/read-shape.ts'
import type { HttpRoute } from '../platforms/http-route.ts'
import type { Route, RouteContract } from './route.ts'

/** A route, and what its handler uses of the services. */
interface ServedRoute<Services> extends RouteContract {
  handle(services: Services, asked: Parameters<Route['handle']>[1]): Promise<unknown>
}

/** The handler rejects `http/bad-request`, and as that of the route. */
export function serveRoute<Services>(route: ServedRoute<Services>, services: Services): HttpRoute {
  const { method, path, access, query, status = 200 } = route
  return {
    method,
    path,
    access,
    async handle(request) {
      const url = new URL(request.url)
      const answer = await route.handle(services, {
        params: readParams(path, url.pathname),
        query: query === undefined ? undefined : parseInput(query, Object.fromEntries(url.searchParams)),
        body: await readBody(route, request),
        request,
        signal: request.signal,
      })
      return answer instanceof Response ? answer : Response.json(answer, { status })
    },
  }
}

function readParams(path: string, asked: string): Record<string, string> {
  const segments = asked.split('/')
  return Object.fromEntries(
    path.split('/').flatMap((part, index) => {
      const name = /^\{(\w+)\}$/.exec(part)?.[1]
      return name === undefined ? [] : [[name, decodeSegment(segments[index] ?? '')]]
    }),
  )
}

/** Ids of platforms contain slashes and colons, which a client encodes. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new HermesError('http/bad-request', `The path contains an invalid escape: ${segment.slice(0, 100)}`, {
      cause,
    })
  }
}

/** An empty body is none: a shape with a default takes it. */
async function readBody({ body: shape }: RouteContract, request: Request): Promise<unknown> {
  if (shape === undefined || shape === 'bytes') return undefined
  const text = await request.text()
  const absent = text === '' ? shape.safeParse(undefined) : undefined
  if (absent?.success === true) return absent.data
  const value = parseJson(text)
  if (value === undefined) throw new HermesError('http/bad-request', 'The body is not JSON.')
  return parseInput(shape, value)
}
