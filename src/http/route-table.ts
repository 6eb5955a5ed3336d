/**
 * Finds the route of a path. Routes are added and removed while the server runs, because platforms connect later.
 */
import type { HttpRoute } from '../platforms/http-route.ts'

export interface RouteEntry {
  readonly route: HttpRoute
  /** The route is served while the gateway is starting or draining, too. */
  readonly alwaysAvailable: boolean
}

export interface RouteTable {
  /** The latest route of a method and path wins, because a platform adds its routes again when it reconnects. */
  add(entry: RouteEntry): () => void
  /** All routes of now. */
  list(): readonly HttpRoute[]
  /**
   * The entries of the best match by method: an exact path before one with variable segments, with fewer of them before more, and
   * these before a prefix, a longer one before a shorter one.
   */
  find(path: string): ReadonlyMap<string, RouteEntry> | undefined
}

export function createRouteTable(): RouteTable {
  const exact = new Map<string, Map<string, RouteEntry>>()
  /** By the path with `{}` for each variable segment. */
  const patterns = new Map<string, Map<string, RouteEntry>>()
  const prefixes = new Map<string, Map<string, RouteEntry>>()

  return {
    add(entry) {
      const { method, path } = entry.route
      const isPrefix = path.endsWith('/*')
      const paths = isPrefix ? prefixes : path.includes('{') ? patterns : exact
      const key = isPrefix ? path.slice(0, -1) : path.replace(/\{\w+\}/g, '{}')
      const methods = paths.get(key) ?? new Map<string, RouteEntry>()
      paths.set(key, methods)
      methods.set(method, entry)
      return () => {
        if (methods.get(method) !== entry) return
        methods.delete(method)
        if (methods.size === 0 && paths.get(key) === methods) paths.delete(key)
      }
    },
    list() {
      const maps = [...exact.values(), ...patterns.values(), ...prefixes.values()]
      return maps.flatMap((methods) => [...methods.values()].map(({ route }) => route))
    },
    find(path) {
      const route = exact.get(path) ?? findPattern(patterns, path)
      if (route !== undefined || prefixes.size === 0) return route
      for (let end = path.lastIndexOf('/'); end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
        const prefix = prefixes.get(path.slice(0, end + 1))
        if (prefix !== undefined) return prefix
      }
      return undefined
    },
  }
}

function findPattern<Entry>(patterns: ReadonlyMap<string, Entry>, path: string): Entry | undefined {
  const segments = path.split('/')
  let match: Entry | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (const [pattern, entry] of patterns) {
    const expected = pattern.split('/')
    const matches = expected.every((part, index) =>
      part === '{}' ? (segments[index] ?? '') !== '' : part === segments[index],
    )
    const variables = expected.filter((part) => part === '{}').length
    if (expected.length !== segments.length || !matches || variables >= fewest) continue
    match = entry
    fewest = variables
  }
  return match
}
