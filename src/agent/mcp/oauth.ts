/**
 * Uses a login at an MCP server (OAuth 2.1): sends its token and refreshes it. The login itself, for which a person is needed, is
 * in `login.ts`.
 */
import {
  type AuthProvider,
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client'
import { messageOf } from '../../lib/errors.ts'
import type { McpServerConfig } from './config.ts'
import { loginNeeded, McpFailure } from './failure.ts'
import type { LoginStore, StoredClient } from './login-store.ts'

export interface OAuthDeps {
  readonly server: string
  readonly settings: Pick<McpServerConfig, 'oauth'>
  readonly store: LoginStore
  /** Runs work that no other process does at the same time. */
  withLock<Result>(file: string, work: () => Promise<Result>): Promise<Result>
}

/** The token of the server for each request. A token that is refused is refreshed once. */
export function createTokenSource({ server, settings, store, withLock }: OAuthDeps): AuthProvider {
  let sent: string | undefined
  return {
    async token() {
      sent = store.tokens()?.access_token
      return sent
    },
    async onUnauthorized({ response, serverUrl, fetchFn }) {
      const refused = sent
      await withLock(store.lockFile, async () => {
        const tokens = store.tokens()
        if (tokens === undefined) throw loginNeeded(server)
        // Another call or another process was faster.
        if (tokens.access_token !== refused) return
        if (tokens.refresh_token === undefined || clientOf(settings, store) === undefined) throw loginNeeded(server)
        const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
        try {
          await auth(createRefreshProvider({ server, settings, store }), {
            serverUrl,
            fetchFn,
            ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
            ...(scope === undefined ? {} : { scope }),
          })
        } catch (error) {
          if (error instanceof McpFailure) throw error
          throw new McpFailure(
            'unreachable',
            `The login at the MCP server ${server} could not be renewed: ${messageOf(error)}`,
            { cause: error },
          )
        }
      })
    },
  }
}

/** The client of the configuration, or the registered one. */
export function clientOf({ oauth }: OAuthDeps['settings'], store: LoginStore): StoredClient | undefined {
  const { client_id, client_secret } = oauth
  if (client_id === undefined) return store.client()
  return { client_id, ...(client_secret === undefined ? {} : { client_secret }) }
}

/** What is the same for a refresh and for a login. */
export function storedParts(settings: OAuthDeps['settings'], store: LoginStore) {
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

export function clientMetadata(redirectUrl: string, { oauth }: OAuthDeps['settings']) {
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
function createRefreshProvider({
  server,
  settings,
  store,
}: Pick<OAuthDeps, 'server' | 'settings' | 'store'>): OAuthClientProvider {
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
