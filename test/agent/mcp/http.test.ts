/**
 * MCP servers on the network: sessions, headers, limits, and the login (OAuth 2.1).
 */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FetchLike } from '@modelcontextprotocol/client'
import { createServerConnection } from '../../../src/agent/mcp/connection.ts'
import { createHttpTransport } from '../../../src/agent/mcp/http-transport.ts'
import { type LoginOptions, login } from '../../../src/agent/mcp/login.ts'
import { createLoginStore, type LoginStore } from '../../../src/agent/mcp/login-store.ts'
import { createTokenSource } from '../../../src/agent/mcp/oauth.ts'
import { contentText } from '../../../src/agent/mcp/result-text.ts'
import { routeSdkWarnings } from '../../../src/agent/mcp/sdk-warnings.ts'
import { createGuardedFetch } from '../../../src/flows/mcp/guarded-fetch.ts'
import { asRecord } from '../../../src/lib/json.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { type HttpTestServer, startHttpServer } from './http-server.ts'
import { serverSettings } from './support.ts'

const { signal } = new AbortController()

interface ConnectOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly store?: LoginStore
  readonly maxMessageBytes?: number
  readonly fetch?: FetchLike
}

function connect(t: TestContext, { url }: { readonly url: string }, options: ConnectOptions = {}) {
  const { headers = {}, store, ...limits } = options
  const settings = serverSettings({ command: undefined, url, headers, connect_timeout: 10 })
  const connection = createServerConnection({
    name: 'remote',
    settings,
    version: '0',
    open: async () =>
      createHttpTransport({
        ...{ url, headers, transport: 'http', fetch: createGuardedFetch(url).fetch, ...limits },
        ...(store === undefined ? {} : { authProvider: createTokenSource('remote', settings, store) }),
      }),
    onCatalogue: () => undefined,
    clock: Date.now,
    random: () => 0.5,
    log: silentLog,
  })
  t.after(() => connection.close())
  const look = async (what: string) => {
    const params = { name: 'look', arguments: { what } }
    return contentText(asRecord(await connection.request({ method: 'tools/call', params }, signal))['content'])
  }
  return { connection, look }
}

/** A browser that opens the address, and a person who agrees. */
async function logIn(server: HttpTestServer, store: LoginStore, more: Partial<LoginOptions> = {}): Promise<void> {
  await login({
    server: 'remote',
    url: server.url,
    settings: serverSettings({ command: undefined, url: server.url, auth: 'oauth' }),
    store,
    fetch: createGuardedFetch(server.url).fetch,
    showAddress: (address) => void fetch(address),
    signal,
    ...more,
  })
}

test('a server on the network gets the configured headers, and its tools work', async (t) => {
  const server = await startHttpServer(t)
  const { look } = connect(t, server, { headers: { 'x-key': 'secret-value' } })
  assert.equal(await look('rain'), 'seen: rain')
  assert.deepEqual([...new Set(server.requests.map((headers) => headers.get('x-key')))], ['secret-value'])
})

test('a server that has forgotten the session is asked again, without an error', async (t) => {
  const server = await startHttpServer(t)
  const { look } = connect(t, server)
  await look('one')
  server.forgetSessions()
  assert.equal(await look('two'), 'seen: two')
})

test('an answer that is too large is an error and does not fill memory', async (t) => {
  const server = await startHttpServer(t, {
    respond(response) {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => response.write(Buffer.alloc(65_536, 'x'), (error) => (error ? undefined : setImmediate(more)))
      more()
    },
  })
  const { look } = connect(t, server, { maxMessageBytes: 100_000 })
  await assert.rejects(look('rain'), { code: 'unreachable', message: /100000 bytes/ })
})

test('an address where nothing listens is an error that names the server', async (t) => {
  const free = createServer()
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
  const address = free.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await new Promise((resolve) => free.close(resolve))
  const { look } = connect(t, { url: `http://127.0.0.1:${port}/mcp` })
  await assert.rejects(look('rain'), { code: 'unreachable', message: /remote.*ECONNREFUSED/ })
})

test('a call that a proxy gives up has an unknown outcome, and one that is refused has none', async (t) => {
  const server = await startHttpServer(t)
  let status = 0
  const { look } = connect(t, server, {
    async fetch(url, init) {
      return status !== 0 && String(init?.body).includes('tools/call')
        ? new Response('', { status })
        : await fetch(url, init)
    },
  })
  await look('rain')
  for (const [answer, code, text] of [
    [504, 'closed', /unknown/],
    [500, 'closed', /unknown/],
    [408, 'closed', /unknown/],
    [403, 'refused', /403\.$/],
  ] as const) {
    status = answer
    await assert.rejects(look('rain'), { code, message: text })
  }
})

test('a login that is not finished leaves the former one in use', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const store = createLoginStore(join(tempHome(t), 'mcp-tokens'), 'remote')
  await logIn(server, store)
  const stop = new AbortController()
  await assert.rejects(
    logIn(server, store, { signal: stop.signal, showAddress: () => stop.abort(new Error('given up')) }),
    /given up/,
  )
  const { look } = connect(t, server, { store })
  await look('one')
  server.expireTokens()
  assert.equal(await look('two'), 'seen: two')
})

test('a server that asks for a login says so, and works after it', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const directory = join(tempHome(t), 'mcp-tokens')
  const secrets: string[] = []
  const store = createLoginStore(directory, 'remote', (found) => secrets.push(...found))
  await assert.rejects(connect(t, server, { store }).look('rain'), {
    code: 'login_needed',
    message: /hermes mcp login remote/,
  })
  await logIn(server, store)
  assert.equal(await connect(t, server, { store }).look('rain'), 'seen: rain')
  assert.equal(statSync(join(directory, 'remote.json')).mode & 0o777, 0o600)
  assert.ok(secrets.includes(store.tokens()?.access_token ?? ''))
})

test('an expired token is refreshed once, also when two calls find it', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const store = createLoginStore(join(tempHome(t), 'mcp-tokens'), 'remote')
  await logIn(server, store)
  const { look } = connect(t, server, { store })
  await look('one')
  server.expireTokens()
  assert.equal(await look('two'), 'seen: two')
  assert.deepEqual(server.grants, ['authorization_code', 'refresh_token'])
})

test('a login that was revoked asks for another one', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const store = createLoginStore(join(tempHome(t), 'mcp-tokens'), 'remote')
  await logIn(server, store)
  server.revokeAll()
  const warnings: string[] = []
  t.after(routeSdkWarnings(console, (text) => warnings.push(text)))
  await assert.rejects(connect(t, server, { store }).look('rain'), { code: 'login_needed' })
  assert.deepEqual(
    warnings.map((text) => text.includes('invalid_grant')),
    [true],
  )
})

test('an authorization server that is down costs no login', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const store = createLoginStore(join(tempHome(t), 'mcp-tokens'), 'remote')
  await logIn(server, store)
  t.after(routeSdkWarnings(console, () => undefined))
  let answer: ((path: string) => Response | undefined) | undefined
  const { look } = connect(t, server, {
    store,
    fetch: async (url, init) => answer?.(new URL(url).pathname) ?? (await fetch(url, init)),
  })
  await look('one')
  server.expireTokens()
  for (const down of [
    (path: string) => (path === '/mcp' ? undefined : new Response('', { status: 503 })),
    (path: string) => (path === '/token' ? new Response('<h1>Sorry</h1>', { status: 500 }) : undefined),
    (path: string) => {
      if (path === '/token') throw new TypeError('fetch failed')
      return undefined
    },
  ]) {
    answer = down
    await assert.rejects(look('rain'), { code: 'unreachable' })
    assert.ok(store.tokens() !== undefined && store.client() !== undefined)
  }
  answer = undefined
  assert.equal(await look('two'), 'seen: two')
})

test('a return of the browser that does not belong to the login is ignored', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const store = createLoginStore(join(tempHome(t), 'mcp-tokens'), 'remote')
  await logIn(server, store, {
    async showAddress(address) {
      const redirect = new URL(address).searchParams.get('redirect_uri') ?? ''
      await fetch(`${redirect}?code=stolen&state=guessed`)
      assert.equal(store.tokens(), undefined)
      await fetch(address)
    },
  })
  assert.ok(store.tokens() !== undefined)
})

test('a person whose browser runs elsewhere can copy the address to which it returned', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const store = createLoginStore(join(tempHome(t), 'mcp-tokens'), 'remote')
  const pasted = Promise.withResolvers<string>()
  await logIn(server, store, {
    pasted: pasted.promise,
    async showAddress(address) {
      const response = await fetch(address, { redirect: 'manual' })
      pasted.resolve(`${response.headers.get('location')}\n`)
    },
  })
  assert.ok(store.tokens() !== undefined)
})
