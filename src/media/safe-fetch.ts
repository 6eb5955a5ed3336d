/**
 * Downloads a file from an untrusted URL: only from public addresses, with limits of size and time.
 *
 * A name is resolved once, and the connection uses the checked addresses, so that DNS rebinding has no effect. Redirects are
 * checked like the first URL.
 */
import { lookup } from 'node:dns/promises'
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { systemCode } from '../lib/errors.ts'
import { raceAbort } from '../lib/timers.ts'
import { DownloadError } from './download-error.ts'
import { isPublicAddress } from './public-address.ts'

export interface SafeFetchRequest {
  readonly url: string
  /** Sent only to the origin of `url`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Origins that may be in a private network, because the operator has configured them. They apply to `url` and to a
   * redirect of one of them. Otherwise any public server could choose a path of the private one.
   */
  readonly trusted?: readonly string[] | undefined
  /** The content type of the response when the headers are rejected. */
  readonly refusedType?: string | undefined
  readonly maxBytes: number
}

/** Which addresses may be used. Tests use servers on this machine, and names that do not exist. */
export interface AddressRules {
  /** Resolves a name to all of its addresses; the system's resolver if omitted. */
  readonly resolve?: (name: string) => Promise<readonly ResolvedAddress[]>
  /** Whether an address may be used; public addresses if omitted. */
  readonly isAllowed?: (address: string) => boolean
}

export interface SafeFetchOptions extends AddressRules {
  /** Time limit without received data. */
  readonly idleTimeoutMs: number
  /** Time limit of the whole download. */
  readonly totalTimeoutMs: number
}

interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

const maxRedirects = 5

/**
 * Passes the received bytes to `onChunk`. Resolves with the declared content type ('' if absent) and the URL after redirects.
 * Rejects with a `DownloadError`, with the error of `onChunk`, or with the reason of the signal.
 */
export async function safeFetch(
  request: SafeFetchRequest,
  onChunk: (bytes: Uint8Array) => Promise<void>,
  signal: AbortSignal,
  deps: SafeFetchOptions,
): Promise<{ contentType: string; url: string }> {
  const timeoutController = new AbortController()
  const onTimeout = () => timeoutController.abort(new DownloadError('timeout', 'it did not arrive in time'))
  const total = setTimeout(onTimeout, deps.totalTimeoutMs)
  const idle = setTimeout(onTimeout, deps.idleTimeoutMs)
  const combinedSignal = AbortSignal.any([signal, timeoutController.signal])
  let inCallback = false
  try {
    const { response, url } = await followRedirects(request, combinedSignal, deps, idle)
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
    return { contentType, url }
  } catch (error) {
    if (inCallback) throw error
    signal.throwIfAborted()
    throw timeoutController.signal.aborted ? timeoutController.signal.reason : toMediaError(error)
  } finally {
    clearTimeout(total)
    clearTimeout(idle)
    // Closes the connection if the response was not read to its end.
    timeoutController.abort()
  }
}

export function credentialsRejectedError(): DownloadError {
  return new DownloadError('credentials-rejected', 'the platform rejected the credentials of the gateway')
}

export function tooLargeError(maxBytes: number): DownloadError {
  const mb = Math.round(maxBytes / 104_857.6) / 10
  return new DownloadError('too-large', `it is larger than the limit of ${mb} MB`)
}

function hasContentType(contentType: string, type: string | undefined): boolean {
  return type !== undefined && contentType.split(';', 1)[0]?.trim().toLowerCase() === type.toLowerCase()
}

/** Throws if the received or the announced size exceeds the limit. */
function createSizeLimit(maxBytes: number): (more: number, announced?: number) => void {
  let bytes = 0
  return (more, announced = 0) => {
    bytes += more
    if (Math.max(bytes, announced) <= maxBytes) return
    throw tooLargeError(maxBytes)
  }
}

/** The first response that is no redirect. */
async function followRedirects(
  { url, headers, trusted = [] }: SafeFetchRequest,
  signal: AbortSignal,
  deps: SafeFetchOptions,
  idle: NodeJS.Timeout,
): Promise<{ response: IncomingMessage; url: string }> {
  let currentUrl = parseHttpUrl(url)
  let currentHeaders = headers ?? {}
  let isTrusted = isTrustedOrigin(currentUrl, trusted)
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    const pinnedLookup = isTrusted ? undefined : await createPinnedLookup(currentUrl, signal, deps)
    const response = await sendRequest(currentUrl, currentHeaders, pinnedLookup, signal)
    idle.refresh()
    const { statusCode = 0 } = response
    if (statusCode === 200) return { response, url: currentUrl.href }
    response.destroy()
    const { location } = response.headers
    if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) {
      throw new DownloadError('http-status', `the server responded with ${statusCode}`)
    }
    const next = parseHttpUrl(location, currentUrl.href)
    // Credentials are only for the first origin. They are not sent again if a redirect leads back.
    if (next.origin !== currentUrl.origin) currentHeaders = {}
    currentUrl = next
    isTrusted &&= isTrustedOrigin(next, trusted)
  }
  throw new DownloadError('too-many-redirects', 'too many redirects')
}

function parseHttpUrl(text: string, base?: string): URL {
  const url = URL.parse(text, base)
  if (url === null) throw new DownloadError('invalid-url', 'its URL is invalid')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw addressNotAllowedError('only http and https are supported')
  if (url.username !== '' || url.password !== '') throw addressNotAllowedError('it contains credentials')
  return url
}

/**
 * Checks an address that another program is to fetch, with the name looked up here. `allowsLocalNames`: it may be a name of the own
 * network. Rejects with a `DownloadError`, or with the signal's reason.
 */
export async function checkAddress(
  url: string,
  signal: AbortSignal,
  deps: AddressRules & { readonly allowsLocalNames?: boolean } = {},
): Promise<void> {
  const { hostname } = parseHttpUrl(url)
  if (deps.allowsLocalNames !== true && /(?:^|\.)(?:localhost|local|internal)\.?$/i.test(hostname))
    throw addressNotAllowedError('its host is not public')
  try {
    await createPinnedLookup(new URL(url), signal, deps)
  } catch (error) {
    signal.throwIfAborted()
    throw toMediaError(error)
  }
}

function addressNotAllowedError(reason: string): DownloadError {
  return new DownloadError('url-not-allowed', `its URL is not allowed: ${reason}`)
}

function isTrustedOrigin({ origin }: URL, trusted: readonly string[]): boolean {
  return trusted.some((address) => URL.parse(address)?.origin === origin)
}

/** A lookup function that returns only the checked addresses. */
async function createPinnedLookup({ hostname }: URL, signal: AbortSignal, deps: AddressRules): Promise<LookupFunction> {
  const { resolve = resolveAllAddresses, isAllowed = isPublicAddress } = deps
  const name = hostname.replace(/^\[|\]$/g, '')
  const addresses =
    // A DNS query cannot be cancelled. A late result is ignored.
    isIP(name) === 0 ? await raceAbort(resolve(name), signal) : [{ address: name, family: isIP(name) }]
  const [first] = addresses
  if (first === undefined) throw new DownloadError('no-address', 'its host has no address')
  if (!addresses.every(({ address }) => isAllowed(address))) throw addressNotAllowedError('its host is not public')
  return (_name, options, callback) => {
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first.address, first.family)
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
  // Without an agent, because a pooled connection could belong to an earlier lookup.
  const options = { headers: all, agent: false, signal, lookup }
  return new Promise((resolve, reject) => {
    get(url, options, resolve).on('error', reject)
  })
}

function toMediaError(error: unknown): DownloadError {
  if (error instanceof DownloadError) return error
  const reason = systemCode(error) ?? 'unknown reason'
  return new DownloadError('unreachable', `the server cannot be reached (${reason})`, { cause: error })
}
