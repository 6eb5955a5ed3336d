/**
 * An MCP server on the network for tests: the SDK's own, with sessions, and if asked with a login (OAuth 2.1 with PKCE).
 */
import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { createTestServer } from './support.ts'

export interface HttpTestServer {
  /** The address of the MCP endpoint. */
  readonly url: string
  readonly origin: string
  /** Headers of the requests to the MCP endpoint. */
  readonly requests: Headers[]
  /** The token endpoint was asked for these grants. */
  readonly grants: string[]
  /** Refuses all access tokens that were issued so far. */
  expireTokens(): void
  /** Refuses all refresh tokens, too. */
  revokeAll(): void
  /** Forgets all sessions, as after a restart. */
  forgetSessions(): void
}

export interface HttpTestServerOptions {
  readonly oauth?: boolean
  /** Answers in place of the MCP server. */
  readonly respond?: (response: ServerResponse) => void
}

export async function startHttpServer(t: TestContext, options: HttpTestServerOptions = {}): Promise<HttpTestServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const requests: Headers[] = []
  const issuer = createIssuer()

  const answerMcp = async (request: Request): Promise<Response> => {
    requests.push(request.headers)
    if (options.oauth === true && !issuer.accepts(request.headers.get('authorization'))) {
      const metadata = `${new URL(request.url).origin}/.well-known/oauth-protected-resource`
      return new Response('', {
        status: 401,
        headers: { 'www-authenticate': `Bearer resource_metadata="${metadata}"` },
      })
    }
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : sessions.get(id)
    if (known !== undefined) return known.handleRequest(request)
    if (id !== null) return new Response('', { status: 404 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    })
    await createTestServer().connect(transport)
    return transport.handleRequest(request)
  }

  const http = createServer(async (incoming, outgoing) => {
    const request = toRequest(incoming)
    const { pathname } = new URL(request.url)
    if (pathname !== '/mcp') return send(await issuer.answer(request), outgoing)
    if (options.respond !== undefined) return options.respond(outgoing)
    await send(await answerMcp(request), outgoing)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const address = http.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  return {
    url: `${origin}/mcp`,
    origin,
    requests,
    grants: issuer.grants,
    expireTokens: issuer.expire,
    revokeAll: issuer.revokeAll,
    forgetSessions: () => sessions.clear(),
  }
}

/** An authorization server that lets everybody in. */
function createIssuer() {
  let access = new Set<string>()
  let refresh = new Set<string>()
  const codes = new Map<string, { readonly challenge: string; readonly redirect: string }>()
  const clients = new Set<string>()
  const grants: string[] = []
  const issue = () => {
    const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` }
    access.add(tokens.access_token)
    refresh.add(tokens.refresh_token)
    return Response.json({ ...tokens, token_type: 'Bearer', expires_in: 3_600 })
  }
  const token = async (request: Request): Promise<Response> => {
    const form = new URLSearchParams(await request.text())
    const grant = form.get('grant_type') ?? ''
    grants.push(grant)
    if (!clients.has(form.get('client_id') ?? '')) return Response.json({ error: 'invalid_client' }, { status: 401 })
    if (grant === 'refresh_token')
      return refresh.delete(form.get('refresh_token') ?? '')
        ? issue()
        : Response.json({ error: 'invalid_grant' }, { status: 400 })
    const code = codes.get(form.get('code') ?? '')
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const matches = code?.challenge === verifier && code.redirect === form.get('redirect_uri')
    return matches ? issue() : Response.json({ error: 'invalid_grant' }, { status: 400 })
  }
  return {
    grants,
    accepts: (header: string | null) => access.has((header ?? '').replace('Bearer ', '')),
    expire() {
      access = new Set()
    },
    revokeAll() {
      access = new Set()
      refresh = new Set()
    },
    async answer(request: Request): Promise<Response> {
      const { origin, pathname, searchParams } = new URL(request.url)
      switch (pathname) {
        case '/.well-known/oauth-protected-resource':
          return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
        case '/.well-known/oauth-authorization-server':
          return Response.json({
            issuer: origin,
            authorization_endpoint: `${origin}/authorize`,
            token_endpoint: `${origin}/token`,
            registration_endpoint: `${origin}/register`,
            response_types_supported: ['code'],
            code_challenge_methods_supported: ['S256'],
            token_endpoint_auth_methods_supported: ['none'],
          })
        case '/register': {
          const client: unknown = await request.json()
          const id = `client-${randomUUID()}`
          clients.add(id)
          return Response.json({ ...(typeof client === 'object' ? client : {}), client_id: id }, { status: 201 })
        }
        case '/authorize': {
          const code = randomUUID()
          const redirect = searchParams.get('redirect_uri') ?? ''
          codes.set(code, { challenge: searchParams.get('code_challenge') ?? '', redirect })
          const target = new URL(redirect)
          target.searchParams.set('code', code)
          target.searchParams.set('state', searchParams.get('state') ?? '')
          return Response.redirect(target, 302)
        }
        case '/token':
          return await token(request)
        default:
          return new Response('', { status: 404 })
      }
    },
  }
}

function toRequest(incoming: IncomingMessage): Request {
  const { method = 'GET', url = '/', headers } = incoming
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  const hasBody = method === 'POST'
  return new Request(`http://${headers.host}${url}`, {
    method,
    headers: pairs,
    ...(hasBody ? { body: Readable.toWeb(incoming), duplex: 'half' } : {}),
  })
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) return void outgoing.end()
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  outgoing.once('close', () => void reader.cancel().catch(() => undefined))
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    outgoing.write(value)
  }
  outgoing.end()
}
