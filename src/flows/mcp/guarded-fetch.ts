/**
 * The requests to an MCP server and those of a login there. The server names further addresses: redirects and the endpoints of its
 * login. None may lead nearer to this machine than the server itself is.
 */
import { lookup as lookupAddresses } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { createNodeFetch, type NodeFetchOptions } from '../../lib/node-fetch.ts'
import { DownloadError } from '../../media/download-error.ts'
import { type AddressScope, addressScope } from '../../media/public-address.ts'

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface GuardedFetch {
  /**
   * Follows redirects of requests without a body, unless `redirect` says otherwise. Rejects with a `DownloadError` for an address that
   * the server may not name, with a system error, or with the reason of the signal.
   */
  readonly fetch: Fetch
  /** Checks an address that another program is to open. Rejects as `fetch`. */
  check(url: string | URL): Promise<void>
}

export interface GuardedFetchOptions {
  readonly tls?: NodeFetchOptions['tls']
  /** Resolves a name to all of its addresses; the system's resolver if omitted. */
  readonly resolve?: (name: string) => Promise<readonly ResolvedAddress[]>
  readonly scopeOf?: (address: string) => AddressScope
}

interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

const maxRedirects = 5
const redirectStatuses = new Set([301, 302, 303, 307, 308])
/** The scopes from which an address may be named. */
const nearness: Readonly<Record<AddressScope, number>> = { public: 0, private: 1, loopback: 2, none: 3 }

/**
 * The server at `url` itself may be anywhere, because the owner has configured it. What it names must not be nearer than it is. The
 * checked addresses are those of the connection, so that a name cannot change its address in between. Once a name of the server
 * was public, it stays so.
 */
export function createGuardedFetch(url: string, options: GuardedFetchOptions = {}): GuardedFetch {
  const { resolve = resolveAll, scopeOf = addressScope } = options
  const requested = new URL(url)
  const ownName = nameOf(requested)
  /** How near the server was at its farthest. */
  let limit: number | undefined

  const resolveName = async (name: string): Promise<readonly ResolvedAddress[]> => {
    const family = isIP(name)
    const addresses = family === 0 ? await resolve(name) : [{ address: name, family }]
    if (addresses.length === 0) throw new DownloadError('no-address', `${name} has no address`)
    return addresses
  }
  const farthest = (addresses: readonly ResolvedAddress[]) =>
    Math.min(...addresses.map(({ address }) => nearness[scopeOf(address)]))

  const checked = async (name: string): Promise<readonly ResolvedAddress[]> => {
    const addresses = await resolveName(name)
    if (name === ownName) limit = Math.min(limit ?? nearness.none, farthest(addresses))
    limit ??= farthest(await resolveName(ownName))
    // What no server may name can still be the server itself.
    const named = limit === nearness.none ? nearness.private : limit
    const allowed = name === ownName ? limit : named
    if (addresses.some(({ address }) => nearness[scopeOf(address)] > allowed))
      throw new DownloadError(
        'url-not-allowed',
        `${name} is an address of the own network, and the MCP server at ${requested.origin} may not name it`,
      )
    return addresses
  }

  const lookup: LookupFunction = (name, { all }, callback) => {
    checked(name).then(
      (addresses) => {
        if (all === true) callback(null, [...addresses])
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), ''),
    )
  }
  const fetchOwn = createNodeFetch({ lookup, tls: options.tls })
  const fetchOther = createNodeFetch({ lookup })

  /** A name is checked where the connection is opened; an address has no such moment. */
  const send = async (target: URL, init: RequestInit): Promise<Response> => {
    checkForm(target)
    if (isIP(nameOf(target)) !== 0) await checked(nameOf(target))
    return await (target.origin === requested.origin ? fetchOwn : fetchOther)(target, init)
  }

  return {
    async fetch(first, init = {}) {
      let target = new URL(first)
      let headers = new Headers(init.headers)
      for (let hops = 0; ; hops += 1) {
        const response = await send(target, { ...init, headers })
        const location = response.headers.get('location')
        if (init.redirect === 'manual' || !redirectStatuses.has(response.status) || location === null) return response
        await response.body?.cancel()
        const method = init.method?.toUpperCase() ?? 'GET'
        if (init.redirect === 'error' || (method !== 'GET' && method !== 'HEAD'))
          throw new DownloadError('http-status', `${target.origin} redirected a request that may not be redirected`)
        if (hops === maxRedirects) throw new DownloadError('too-many-redirects', 'too many redirects')
        const next = URL.parse(location, target.href)
        if (next === null) throw new DownloadError('invalid-url', `${target.origin} redirected to an invalid address`)
        // What was meant for one server is not sent to another.
        if (next.origin !== target.origin) headers = withoutSecrets(headers)
        target = next
      }
    },
    async check(address) {
      const target = new URL(address)
      checkForm(target)
      await checked(nameOf(target))
    },
  }
}

function checkForm({ protocol, username, password, hostname }: URL): void {
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new DownloadError('url-not-allowed', `only http and https are supported, not ${protocol}`)
  if (username !== '' || password !== '')
    throw new DownloadError('url-not-allowed', `the address of ${hostname} contains credentials`)
}

function withoutSecrets(headers: Headers): Headers {
  const forwardedNames = ['accept', 'content-type', 'mcp-protocol-version']
  return new Headers([...headers].filter(([name]) => forwardedNames.includes(name)))
}

function nameOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function resolveAll(name: string): Promise<readonly ResolvedAddress[]> {
  return lookupAddresses(name, { all: true })
}
