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
import { raceAbort } from '../lib/timers.ts'
import { MediaError } from './media-error.ts'
import { isPublicAddress } from './public-address.ts'

export interface SafeFetchRequest {
  readonly url: string
  /** For the origin of `url` only. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** This origin may lie in a private network: the operator has configured it. */
  readonly trusted?: string | undefined
  /** What arrives in place of the file when the headers are not accepted. */
  readonly refusedType?: string | undefined
  readonly maxBytes: number
}

export interface SafeFetchOptions {
  /** Nothing came for so long. */
  readonly idleTimeoutMs: number
  /** From the first step to the last byte. */
  readonly totalTimeoutMs: number
  /** All addresses of a name; the system's own resolver if left out. */
  readonly resolve?: (name: string) => Promise<readonly ResolvedAddress[]>
  /** Which addresses may be reached; those of the open internet if left out. */
  readonly isAllowed?: (address: string) => boolean
}

interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

const maxRedirects = 5

/**
 * Hands the bytes on as they come; resolves when all have been taken, with what the server calls their type ('' if nothing).
 * Rejects with a `FileProblem`, with what `take` threw, or with the signal's reason.
 */
export async function safeFetch(
  request: SafeFetchRequest,
  onChunk: (bytes: Uint8Array) => Promise<void>,
  signal: AbortSignal,
  deps: SafeFetchOptions,
): Promise<{ contentType: string }> {
  const timeoutController = new AbortController()
  const onTimeout = () => timeoutController.abort(new MediaError('it did not arrive in time'))
  const total = setTimeout(onTimeout, deps.totalTimeoutMs)
  const idle = setTimeout(onTimeout, deps.idleTimeoutMs)
  const combinedSignal = AbortSignal.any([signal, timeoutController.signal])
  let inCallback = false
  try {
    const response = await followRedirects(request, combinedSignal, deps, idle)
    const contentType = response.headers['content-type'] ?? ''
    if (hasContentType(contentType, request.refusedType)) throw credentialsRejectedError()
    const checkSize = createSizeLimit(request.maxBytes)
    checkSize(0, Number(response.headers['content-length'] ?? 0))
    for await (const bytes of response) {
      idle.refresh()
      checkSize(bytes.length)
      inCallback = true
      await onChunk(bytes)
      inCallback = false
    }
    return { contentType }
  } catch (error) {
    if (inCallback) throw error
    signal.throwIfAborted()
    throw timeoutController.signal.aborted ? timeoutController.signal.reason : toMediaError(error)
  } finally {
    clearTimeout(total)
    clearTimeout(idle)
    // A response that was not read to its end would hold its connection.
    timeoutController.abort()
  }
}

export function credentialsRejectedError(): MediaError {
  return new MediaError('the platform did not accept our credentials')
}

export function tooLargeError(maxBytes: number): MediaError {
  const mb = Math.round(maxBytes / 104_857.6) / 10
  return new MediaError(`it is larger than ${mb} MB, the most that is fetched`)
}

function hasContentType(contentType: string, type: string | undefined): boolean {
  return type !== undefined && contentType.split(';', 1)[0]?.trim().toLowerCase() === type.toLowerCase()
}

/** Throws as soon as more has come, or was announced, than is allowed. */
function createSizeLimit(maxBytes: number): (more: number, announced?: number) => void {
  let bytes = 0
  return (more, announced = 0) => {
    bytes += more
    if (Math.max(bytes, announced) <= maxBytes) return
    throw tooLargeError(maxBytes)
  }
}

/** The answer that is no redirect any more. */
async function followRedirects(
  { url, headers, trusted }: SafeFetchRequest,
  signal: AbortSignal,
  deps: SafeFetchOptions,
  idle: NodeJS.Timeout,
): Promise<IncomingMessage> {
  let currentUrl = parseHttpUrl(url)
  let currentHeaders = headers ?? {}
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    const response = await sendRequest(
      currentUrl,
      currentHeaders,
      await createPinnedLookup(currentUrl, trusted, signal, deps),
      signal,
    )
    idle.refresh()
    const { statusCode = 0 } = response
    if (statusCode === 200) return response
    response.destroy()
    const { location } = response.headers
    if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) {
      throw new MediaError(`the server answered ${statusCode}`)
    }
    const next = parseHttpUrl(location, currentUrl.href)
    // What proves who we are is for the server it was meant for, and does not come back with a further redirect.
    if (next.origin !== currentUrl.origin) currentHeaders = {}
    currentUrl = next
  }
  throw new MediaError('the server sent us from one address to the next')
}

function parseHttpUrl(text: string, base?: string): URL {
  const url = URL.parse(text, base)
  if (url === null) throw new MediaError('its address cannot be read')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw addressNotAllowedError('it is not one of the web')
  if (url.username !== '' || url.password !== '') throw addressNotAllowedError('it carries a name or a password')
  return url
}

function addressNotAllowedError(reason: string): MediaError {
  return new MediaError(`its address is not allowed: ${reason}`)
}

/** How the connection finds its address: by the answers that were looked at, and no others. */
async function createPinnedLookup(
  { hostname, origin }: URL,
  trusted: string | undefined,
  signal: AbortSignal,
  deps: SafeFetchOptions,
): Promise<LookupFunction | undefined> {
  if (trusted !== undefined && URL.parse(trusted)?.origin === origin) return undefined
  const { resolve = resolveAllAddresses, isAllowed = isPublicAddress } = deps
  const name = hostname.replace(/^\[|\]$/g, '')
  const addresses =
    // Name servers cannot be called off; what they say later is dropped.
    isIP(name) === 0 ? await raceAbort(resolve(name), signal) : [{ address: name, family: isIP(name) }]
  const [first] = addresses
  if (first === undefined) throw new MediaError('its address leads nowhere')
  if (!addresses.every(({ address }) => isAllowed(address)))
    throw addressNotAllowedError('it does not lead to the open internet')
  return (_name, options, answer) => {
    if (options.all === true) answer(null, [...addresses])
    else answer(null, first.address, first.family)
  }
}

function resolveAllAddresses(name: string): Promise<readonly ResolvedAddress[]> {
  return lookup(name, { all: true })
}

function sendRequest(
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

function toMediaError(error: unknown): MediaError {
  if (error instanceof MediaError) return error
  return new MediaError(`the server cannot be reached (${systemCode(error) ?? 'no reason given'})`, { cause: error })
}
