/**
 * Fetches a file from an address that a stranger may have chosen: from the open internet only, in bounded size and time.
 *
 * A name is resolved once, and the connection goes to the addresses that were looked at: a name server that changes its
 * mind in between gains nothing. Every redirect is looked at like the first address.
 */
import { lookup } from 'node:dns/promises'
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { systemCode } from '../lib/errors.ts'
import { orAborted } from '../lib/wait.ts'
import { FileProblem } from './problem.ts'
import { isPublicAddress } from './public-address.ts'

export interface FetchRequest {
  readonly url: string
  /** For the origin of `url` only. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** This origin may lie in a private network: the operator has configured it. */
  readonly trusted?: string | undefined
  /** What arrives in place of the file when the headers are not accepted. */
  readonly refusedType?: string | undefined
  readonly maxBytes: number
}

export interface FetchDeps {
  /** Nothing came for so long. */
  readonly idleMs: number
  /** From the first step to the last byte. */
  readonly totalMs: number
  /** All addresses of a name; the system's own resolver if left out. */
  readonly resolve?: (name: string) => Promise<readonly Address[]>
  /** Which addresses may be reached; those of the open internet if left out. */
  readonly isAllowed?: (address: string) => boolean
}

interface Address {
  readonly address: string
  readonly family: number
}

const maxRedirects = 5

/**
 * Hands the bytes on as they come; resolves when all have been taken, with what the server calls their type ('' if nothing).
 * Rejects with a `FileProblem`, with what `take` threw, or with the signal's reason.
 */
export async function safeFetch(
  request: FetchRequest,
  take: (bytes: Uint8Array) => Promise<void>,
  signal: AbortSignal,
  deps: FetchDeps,
): Promise<{ contentType: string }> {
  const limit = new AbortController()
  const late = () => limit.abort(new FileProblem('it did not arrive in time'))
  const total = setTimeout(late, deps.totalMs)
  const idle = setTimeout(late, deps.idleMs)
  const either = AbortSignal.any([signal, limit.signal])
  let taking = false
  try {
    const response = await follow(request, either, deps, idle)
    const contentType = response.headers['content-type'] ?? ''
    if (isType(contentType, request.refusedType)) throw refusedCredentials()
    const cap = cappedAt(request.maxBytes)
    cap(0, Number(response.headers['content-length'] ?? 0))
    for await (const bytes of response) {
      idle.refresh()
      cap(bytes.length)
      taking = true
      await take(bytes)
      taking = false
    }
    return { contentType }
  } catch (error) {
    if (taking) throw error
    signal.throwIfAborted()
    throw limit.signal.aborted ? limit.signal.reason : problemOf(error)
  } finally {
    clearTimeout(total)
    clearTimeout(idle)
    // A response that was not read to its end would hold its connection.
    limit.abort()
  }
}

export function refusedCredentials(): FileProblem {
  return new FileProblem('the platform did not accept our credentials')
}

export function tooLarge(maxBytes: number): FileProblem {
  const mb = Math.round(maxBytes / 104_857.6) / 10
  return new FileProblem(`it is larger than ${mb} MB, the most that is fetched`)
}

function isType(contentType: string, type: string | undefined): boolean {
  return type !== undefined && contentType.split(';', 1)[0]?.trim().toLowerCase() === type.toLowerCase()
}

/** Throws as soon as more has come, or was announced, than is allowed. */
function cappedAt(maxBytes: number): (more: number, announced?: number) => void {
  let bytes = 0
  return (more, announced = 0) => {
    bytes += more
    if (Math.max(bytes, announced) <= maxBytes) return
    throw tooLarge(maxBytes)
  }
}

/** The answer that is no redirect any more. */
async function follow(
  { url, headers, trusted }: FetchRequest,
  signal: AbortSignal,
  deps: FetchDeps,
  idle: NodeJS.Timeout,
): Promise<IncomingMessage> {
  let at = addressOf(url)
  let own = headers ?? {}
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    const response = await ask(at, own, await lookupFor(at, trusted, signal, deps), signal)
    idle.refresh()
    const { statusCode = 0 } = response
    if (statusCode === 200) return response
    response.destroy()
    const { location } = response.headers
    if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) {
      throw new FileProblem(`the server answered ${statusCode}`)
    }
    const next = addressOf(location, at.href)
    // What proves who we are is for the server it was meant for, and does not come back with a further redirect.
    if (next.origin !== at.origin) own = {}
    at = next
  }
  throw new FileProblem('the server sent us from one address to the next')
}

function addressOf(text: string, base?: string): URL {
  const url = URL.parse(text, base)
  if (url === null) throw new FileProblem('its address cannot be read')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw notAllowed('it is not one of the web')
  if (url.username !== '' || url.password !== '') throw notAllowed('it carries a name or a password')
  return url
}

function notAllowed(reason: string): FileProblem {
  return new FileProblem(`its address is not allowed: ${reason}`)
}

/** How the connection finds its address: by the answers that were looked at, and no others. */
async function lookupFor(
  { hostname, origin }: URL,
  trusted: string | undefined,
  signal: AbortSignal,
  deps: FetchDeps,
): Promise<LookupFunction | undefined> {
  if (trusted !== undefined && URL.parse(trusted)?.origin === origin) return undefined
  const { resolve = resolveName, isAllowed = isPublicAddress } = deps
  const name = hostname.replace(/^\[|\]$/g, '')
  const addresses =
    // Name servers cannot be called off; what they say later is dropped.
    isIP(name) === 0 ? await orAborted(resolve(name), signal) : [{ address: name, family: isIP(name) }]
  const [first] = addresses
  if (first === undefined) throw new FileProblem('its address leads nowhere')
  if (!addresses.every(({ address }) => isAllowed(address))) throw notAllowed('it does not lead to the open internet')
  return (_name, options, answer) => {
    if (options.all === true) answer(null, [...addresses])
    else answer(null, first.address, first.family)
  }
}

function resolveName(name: string): Promise<readonly Address[]> {
  return lookup(name, { all: true })
}

function ask(
  url: URL,
  headers: Readonly<Record<string, string>>,
  lookup: LookupFunction | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const get = url.protocol === 'https:' ? getHttps : getHttp
  const all = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'hermes-gateway', ...headers }
  // A connection of its own: one out of a pool would go where an earlier name led to.
  const options = { headers: all, agent: false, signal, ...(lookup === undefined ? {} : { lookup }) }
  return new Promise((resolve, reject) => {
    get(url, options, resolve).on('error', reject)
  })
}

function problemOf(error: unknown): FileProblem {
  if (error instanceof FileProblem) return error
  return new FileProblem(`the server cannot be reached (${systemCode(error) ?? 'no reason given'})`, { cause: error })
}
