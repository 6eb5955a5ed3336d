/**
 * Uses a login at an MCP server (OAuth 2.1): sends its token and refreshes it. The login itself, for which a person is needed, is
 * in `login.ts`.
 */
import {
  type AuthProvider,
  auth,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client'
import { messageOf } from '../../lib/errors.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'
import type { McpServerConfig } from './config.ts'
import type { LoginStore, StoredClient } from './login-store.ts'
import { loginNeeded, McpServerError } from './mcp-server-error.ts'

type LoginSettings = Pick<McpServerConfig, 'oauth'>

/** The token of the server for each request. A token that is refused is refreshed once. */
export function createTokenSource(server: string, settings: LoginSettings, store: LoginStore): AuthProvider {
  let sent: string | undefined
  return {
    async token() {
      sent = store.tokens()?.access_token
      return sent
    },
    async onUnauthorized({ response, serverUrl, fetchFn }) {
      const refused = sent
      await withFileLock(store.lockFile, async () => {
        const tokens = store.tokens()
        if (tokens === undefined) throw loginNeeded(server)
        // Another call or another process was faster.
        if (tokens.access_token !== refused) return
        if (tokens.refresh_token === undefined || clientOf(settings, store) === undefined) throw loginNeeded(server)
        await renew(server, settings, store, { response, serverUrl, fetchFn })
      })
    },
  }
}

type Unauthorized = Parameters<NonNullable<AuthProvider['onUnauthorized']>>[0]

/** Rejects with an `McpServerError`. */
async function renew(
  server: string,
  settings: LoginSettings,
  store: LoginStore,
  { response, serverUrl, fetchFn }: Unauthorized,
): Promise<void> {
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
  const outages: Error[] = []
  try {
    await auth(createRefreshProvider(server, settings, store), {
      serverUrl,
      fetchFn: failingAtOutages(fetchFn, outages),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      ...(scope === undefined ? {} : { scope }),
    })
  } catch (error) {
    const [outage] = outages
    // After a failed refresh the SDK asks for a person, whatever the reason. It removes a login that was refused.
    const isOutage = outage !== undefined && store.tokens() !== undefined
    if (error instanceof McpServerError && !isOutage) throw error
    const cause = isOutage ? outage : error
    const message = `The login at the MCP server ${server} could not be renewed: ${messageOf(cause)}`
    throw new McpServerError('unreachable', message, { cause })
  }
}

/**
 * Fails for an answer that says nothing about the login, and adds it to `outages`. The SDK goes on to another address after all
 * errors but a `TypeError`.
 */
function failingAtOutages(fetchOriginal: FetchLike, outages: Error[]): FetchLike {
  const fail = (reason: string, cause?: unknown): never => {
    const outage = new TypeError(reason, { cause })
    outages.push(outage)
    throw outage
  }
  return async (url, init) => {
    const response = await fetchOriginal(url, init).catch((error: unknown) => fail(messageOf(error), error))
    const { status } = response
    // Some servers answer 500 at an address of metadata that they do not have.
    if (status !== 429 && status < (init?.method === 'POST' ? 500 : 503)) return response
    await response.body?.cancel()
    return fail(`${new URL(url).host} answered ${status}`)
  }
}

/** The client of the configuration, or the registered one. */
export function clientOf({ oauth }: LoginSettings, store: LoginStore): StoredClient | undefined {
  const { client_id, client_secret } = oauth
  if (client_id === undefined) return store.client()
  return { client_id, client_secret }
}

/** What is the same for a refresh and for a login. */
export function storedParts(settings: LoginSettings, store: LoginStore) {
  return {
    clientInformation: () => clientOf(settings, store),
    saveClientInformation: (client) => {
      if (settings.oauth.client_id === undefined) store.saveClient(client)
    },
    tokens: () => store.tokens(),
    saveTokens: (tokens) => store.saveTokens(tokens),
    invalidateCredentials(scope) {
      if (scope === 'tokens' || scope === 'all') store.removeTokens()
      if ((scope === 'client' || scope === 'all') && settings.oauth.client_id === undefined) store.removeClient()
    },
  } satisfies Partial<OAuthClientProvider>
}

export function clientMetadata(redirectUrl: string, { oauth }: LoginSettings) {
  return {
    client_name: 'hermes-gateway',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: oauth.client_secret === undefined ? 'none' : 'client_secret_post',
    ...(oauth.scope === undefined ? {} : { scope: oauth.scope }),
  }
}

/** Where a person would be needed, it fails. */
function createRefreshProvider(server: string, settings: LoginSettings, store: LoginStore): OAuthClientProvider {
  // Without an address the SDK would ask for tokens without a person.
  const redirectUrl = 'http://127.0.0.1/callback'
  const refuse = () => {
    throw loginNeeded(server)
  }
  return {
    ...storedParts(settings, store),
    redirectUrl,
    clientMetadata: clientMetadata(redirectUrl, settings),
    redirectToAuthorization: refuse,
    saveCodeVerifier: () => undefined,
    codeVerifier: refuse,
  }
}
