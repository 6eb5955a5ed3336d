/**
 * The requests of a login at an MCP server. The server names the addresses to ask, so that a public one could name a private one.
 */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress } from '../media/public-address.ts'

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * Asks the server at `url` itself, and other origins if they are public or if the server is not. A name is resolved twice, so that
 * this is no protection from a name that changes its address in between. Rejects for other addresses.
 */
export function createGuardedFetch(url: string, fetchOriginal: Fetch = fetch): Fetch {
  const { origin, hostname } = new URL(url)
  let isPrivate: Promise<boolean> | undefined
  return async (target, init) => {
    const other = new URL(target)
    if (other.origin === origin) return await fetchOriginal(other, init)
    isPrivate ??= isPrivateHost(hostname)
    if (!(await isPrivate) && (await isPrivateHost(other.hostname)))
      throw new Error(`${other.origin} is not a public address, and the MCP server at ${origin} may not name it`)
    return await fetchOriginal(other, { redirect: 'error', ...init })
  }
}

/** Rejects with a system error for a name that does not exist. */
async function isPrivateHost(hostname: string): Promise<boolean> {
  const name = hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(name) === 0 ? await lookup(name, { all: true }) : [{ address: name }]
  return addresses.some(({ address }) => !isPublicAddress(address))
}
