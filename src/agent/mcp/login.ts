/**
 * Logs in at an MCP server (OAuth 2.1 with PKCE): a person opens an address in a browser, which returns to this machine.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import {
  auth,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client'
import { raceAbort } from '../../lib/timers.ts'
import type { McpServerConfig } from './config.ts'
import { boundedFetch } from './http-transport.ts'
import type { LoginStore } from './login-store.ts'
import { McpServerError } from './mcp-server-error.ts'
import { clientMetadata, clientOf, storedParts } from './oauth.ts'

export interface LoginOptions {
  readonly server: string
  readonly settings: Pick<McpServerConfig, 'oauth'>
  readonly store: LoginStore
  readonly fetch: FetchLike
  readonly url: string
  /** Rejects for an address that the server may not name. */
  checkAddress?(url: URL): Promise<void>
  /** Shows the person the address to open. */
  showAddress(url: string): void
  /** The address to which the browser was sent, where the person copies it because the browser runs elsewhere. */
  readonly pasted?: Promise<string> | undefined
  readonly signal: AbortSignal
}

/** Limits an answer of the endpoints of a login. */
const maxAnswerBytes = 1_048_576

/** Resolves when the tokens are stored. Rejects with `McpServerError`, an error of the SDK, or the reason of the signal. */
export async function login(options: LoginOptions): Promise<void> {
  const { server, url, settings, signal } = options
  const fetch = boundedFetch(options.fetch, maxAnswerBytes)
  const returned = Promise.withResolvers<URL>()
  const state = randomBytes(24).toString('base64url')
  // What returns without the state of this login was sent by someone else.
  const isOurs = ({ searchParams }: URL) => isEqual(searchParams.get('state') ?? '', state)
  const http = await listen(settings.oauth.redirect_port, (target) => isOurs(target) && returned.resolve(target))
  try {
    const redirectUrl = `http://127.0.0.1:${portOf(http)}/callback`
    const provider = createLoginProvider(options, redirectUrl, state)
    const challenge = await readChallenge({ ...options, fetch })
    const common = {
      serverUrl: url,
      fetchFn: fetch,
      ...challenge,
      ...(settings.oauth.scope === undefined ? {} : { scope: settings.oauth.scope }),
    }
    const first = await raceAbort(auth(provider, { ...common, forceReauthorization: true }), signal)
    if (first === 'AUTHORIZED') return
    const pasted = options.pasted?.then((text) => new URL(text.trim()))
    const target = await raceAbort(Promise.race([returned.promise, ...(pasted === undefined ? [] : [pasted])]), signal)
    const { code, iss } = readReturn(server, target, state)
    await raceAbort(
      auth(provider, { ...common, authorizationCode: code, ...(iss === undefined ? {} : { iss }) }),
      signal,
    )
  } finally {
    http.closeAllConnections()
    http.close()
  }
}

/** What the server says about its login when it is asked without one. */
async function readChallenge({
  url,
  fetch,
  signal,
}: LoginOptions): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' })
  const response = await fetch(url, { method: 'POST', headers, body, signal })
  await response.body?.cancel()
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
  return {
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    ...(scope === undefined ? {} : { scope }),
  }
}

/** Throws `McpServerError` when the login was refused, or when it belongs to another one. */
function readReturn(server: string, target: URL, state: string): { readonly code: string; readonly iss?: string } {
  const { searchParams } = target
  const error = searchParams.get('error')
  if (error !== null) {
    const detail = searchParams.get('error_description') ?? ''
    throw new McpServerError(
      'login_needed',
      `The login at ${server} was refused: ${`${error} ${detail}`.slice(0, 300).trim()}`,
    )
  }
  const code = searchParams.get('code')
  if (code === null || !isEqual(searchParams.get('state') ?? '', state))
    throw new McpServerError(
      'login_needed',
      `The browser returned without the login that was begun at ${server}. Try again.`,
    )
  const iss = searchParams.get('iss')
  return { code, ...(iss === null ? {} : { iss }) }
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

/** Stores the client with its tokens at the end: until then, and when the person gives up, the former login works. */
function createLoginProvider(
  { settings, store, showAddress, checkAddress }: LoginOptions,
  redirectUrl: string,
  state: string,
): OAuthClientProvider {
  let verifier = ''
  let discovered: OAuthDiscoveryState | undefined
  // A client is registered with its address, which has another port each time.
  const { client_id, redirect_port } = settings.oauth
  let client = client_id === undefined && redirect_port === 0 ? undefined : clientOf(settings, store)
  let registered: object | undefined
  return {
    ...storedParts(settings, store),
    clientInformation: () => client,
    saveClientInformation(value) {
      client = value
      registered = value
    },
    saveTokens(tokens) {
      if (client_id === undefined && registered !== undefined) store.saveClient(registered)
      store.saveTokens(tokens)
    },
    invalidateCredentials(scope) {
      if ((scope === 'client' || scope === 'all') && client_id === undefined) client = undefined
    },
    redirectUrl,
    clientMetadata: clientMetadata(redirectUrl, settings),
    state: () => state,
    async redirectToAuthorization(address) {
      await checkAddress?.(address)
      showAddress(address.href)
    },
    saveCodeVerifier(value) {
      verifier = value
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(value) {
      discovered = value
    },
    discoveryState: () => discovered,
  }
}

const page = (text: string) => `<!doctype html><meta charset="utf-8"><title>hermes-gateway</title><p>${text}</p>`

/** Rejects with a system error when the port is taken. */
function listen(port: number, onReturn: (target: URL) => void): Promise<Server> {
  const server = createServer((request, response) => {
    const target = URL.canParse(request.url ?? '', 'http://127.0.0.1')
      ? new URL(request.url ?? '', 'http://127.0.0.1')
      : undefined
    const isReturn = request.method === 'GET' && target?.pathname === '/callback'
    response.writeHead(isReturn ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    })
    response.end(page(isReturn ? 'You can close this page and go back to the terminal.' : 'There is nothing here.'))
    if (isReturn && target !== undefined) onReturn(target)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
