/**
 * Access control of the real server against unauthenticated clients, foreign pages and invalid requests.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { refusedHosts, refusedOrigins, refusedTokens } from './refused-requests.ts'
import { runServer, secret, sendRequest, withToken } from './support.ts'

describe('the token', () => {
  for (const [what, path, headers] of refusedTokens) {
    it(`refuses ${what} with 401, also on loopback`, async (t) => {
      const { port, lines } = await runServer(t)
      const answer = await sendRequest(port, { path, headers })
      assert.equal(answer.status, 401)
      assert.equal(answer.code, 'http/unauthorised')
      assert.match(answer.headers['www-authenticate'] ?? '', /^Bearer/)
      assert.ok(!JSON.stringify(lines).includes(secret), 'the log never holds the token')
    })
  }

  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    it(`is accepted with the scheme ${scheme} in upper and lower case`, async (t) => {
      const { port } = await runServer(t)
      const answer = await sendRequest(port, { path: '/token', headers: { authorization: `${scheme} ${secret}` } })
      assert.equal(answer.status, 200)
    })
  }

  it('is invalid immediately after a rotation, also on an open connection', async (t) => {
    let current = secret
    const { url } = await runServer(t, { token: () => current })
    const first = await fetch(`${url}/token`, { headers: withToken() })
    assert.equal(first.status, 200)
    await first.text()
    current = 'the-new-token-of-this-gateway'
    const second = await fetch(`${url}/token`, { headers: withToken() })
    assert.equal(second.status, 401)
    await second.text()
    const third = await fetch(`${url}/token`, { headers: withToken({}, current) })
    assert.equal(third.status, 200)
    await third.text()
  })

  it('is removed from the request before a route receives it', async (t) => {
    const { port, server } = await runServer(t)
    server.route({
      method: 'GET',
      path: '/headers',
      access: 'token',
      handle: (request) => Response.json(Object.fromEntries(request.headers)),
    })
    const answer = await sendRequest(port, { path: '/headers', headers: withToken({ 'x-other': 'kept' }) })
    assert.equal(answer.status, 200)
    assert.ok(!answer.text.includes(secret))
    assert.match(answer.text, /"x-other":"kept"/)
  })

  it('is not required for public pages and for webhooks that check a signature', async (t) => {
    const { port } = await runServer(t)
    assert.equal((await sendRequest(port, { path: '/public' })).status, 200)
    assert.equal((await sendRequest(port, { method: 'POST', path: '/own', body: 'signed' })).text, 'signed')
  })

  it('is required before a response shows which addresses exist', async (t) => {
    const { port } = await runServer(t)
    assert.equal((await sendRequest(port, { path: '/nowhere' })).status, 401)
    assert.equal((await sendRequest(port, { method: 'DELETE', path: '/token' })).status, 401)
    assert.equal((await sendRequest(port, { path: '/public/../token' })).status, 401)
    assert.equal((await sendRequest(port, { path: '//token' })).status, 401)
  })

  it('causes an error when it cannot be read, instead of open access', async (t) => {
    const { port, lines } = await runServer(t, {
      token: () => {
        throw new Error('gateway.token is gone')
      },
    })
    assert.equal((await sendRequest(port, { path: '/token' })).status, 401)
    const answer = await sendRequest(port, { path: '/token', headers: withToken() })
    assert.equal(answer.status, 500)
    assert.equal(answer.code, 'http/internal')
    assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
  })
})

describe('the Host header', () => {
  for (const host of refusedHosts) {
    it(`refuses ${JSON.stringify(host)} with 403, even with the token`, async (t) => {
      const { port } = await runServer(t)
      for (const path of ['/token', '/public', '/own', '/healthz', '/readyz']) {
        const answer = await sendRequest(port, { path, headers: withToken({ host }) })
        assert.equal(answer.status, 403, path)
        assert.equal(answer.code, 'http/forbidden-host')
      }
    })
  }

  for (const host of ['localhost', 'LOCALHOST:1234', '127.0.0.1:9000', '[::1]:8642', 'localhost.:80']) {
    it(`accepts the loopback name ${host} with any port`, async (t) => {
      const { port } = await runServer(t)
      assert.equal((await sendRequest(port, { path: '/token', headers: withToken({ host }) })).status, 200)
    })
  }

  it('accepts the names of http.allowed_hosts, and a name with a port only with that port', async (t) => {
    const { port } = await runServer(t, { allowed_hosts: ['chat.example.org', 'https://Other.example.org:8443/'] })
    const status = async (host: string) =>
      (await sendRequest(port, { path: '/token', headers: withToken({ host }) })).status
    assert.equal(await status('chat.example.org'), 200)
    assert.equal(await status('CHAT.example.org:444'), 200)
    assert.equal(await status('other.example.org:8443'), 200)
    assert.equal(await status('other.example.org'), 403)
    assert.equal(await status('sub.chat.example.org'), 403)
  })

  it('is not replaced by forwarded headers, neither to allow nor to refuse access', async (t) => {
    const { port } = await runServer(t)
    const rebound = { host: 'evil.com', 'x-forwarded-host': 'localhost', forwarded: 'host=localhost' }
    assert.equal((await sendRequest(port, { path: '/token', headers: withToken(rebound) })).status, 403)
    const claimed = { 'x-forwarded-host': 'evil.com', 'x-original-url': '/public', 'x-rewrite-url': '/public' }
    assert.equal((await sendRequest(port, { path: '/token', headers: claimed })).status, 401)
  })
})

describe('the Origin header', () => {
  for (const origin of refusedOrigins) {
    it(`refuses a page of ${origin} with 403, even with the token`, async (t) => {
      const { port } = await runServer(t)
      for (const [method, path] of [
        ['GET', '/token'],
        ['POST', '/token'],
        ['POST', '/own'],
        ['GET', '/public'],
        ['OPTIONS', '/token'],
      ] as const) {
        const answer = await sendRequest(port, { method, path, headers: withToken({ origin }) })
        assert.equal(answer.status, 403, `${method} ${path}`)
        assert.equal(answer.headers['access-control-allow-origin'], undefined)
      }
    })
  }

  it('accepts the page of this gateway on any published port', async (t) => {
    const { port } = await runServer(t)
    const status = async (host: string, origin: string) =>
      (await sendRequest(port, { method: 'POST', path: '/token', headers: withToken({ host, origin }) })).status
    assert.equal(await status(`127.0.0.1:${port}`, `http://127.0.0.1:${port}`), 200)
    assert.equal(await status('localhost:9000', 'http://localhost:9000'), 200)
    assert.equal(await status('localhost', 'http://localhost:80'), 200)
    assert.equal(await status('localhost:9000', 'http://127.0.0.1:9000'), 403)
  })

  it('accepts pages of http.allowed_hosts', async (t) => {
    const { port } = await runServer(t, { allowed_hosts: ['chat.example.org', 'localhost:3000'] })
    const status = async (origin: string) =>
      (await sendRequest(port, { method: 'POST', path: '/token', headers: withToken({ origin }) })).status
    assert.equal(await status('https://chat.example.org'), 200)
    assert.equal(await status('http://localhost:3000'), 200)
    assert.equal(await status('http://localhost:3001'), 403)
    assert.equal(await status('https://evil.com'), 403)
  })
})

describe('pages of http.allowed_origins', () => {
  const origin = 'https://app.example.org'

  it('may call the API from a browser', async (t) => {
    const { port } = await runServer(t, { allowed_origins: [`${origin}/`] })
    const preflight = await sendRequest(port, {
      method: 'OPTIONS',
      path: '/token',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,x-hermes-session-id',
      },
    })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers['access-control-allow-origin'], origin)
    assert.equal(preflight.headers['access-control-allow-headers'], 'authorization,x-hermes-session-id')
    const headers = withToken({ origin })
    for (const path of ['/token', '/missing']) {
      const answer = await sendRequest(port, { method: 'POST', path, headers })
      assert.equal(answer.status, path === '/token' ? 200 : 404)
      assert.equal(answer.headers['access-control-allow-origin'], origin)
      assert.equal(answer.headers['vary'], 'origin')
    }
    assert.equal((await sendRequest(port, { method: 'POST', path: '/token', headers: { origin } })).status, 401)
  })

  it('are the only ones that get CORS headers', async (t) => {
    const { port } = await runServer(t, { allowed_origins: [origin], allowed_hosts: ['chat.example.org'] })
    for (const other of ['https://evil.example', 'http://app.example.org', 'https://chat.example.org']) {
      const headers = { origin: other, 'access-control-request-method': 'POST' }
      const answer = await sendRequest(port, { method: 'OPTIONS', path: '/token', headers })
      assert.notEqual(answer.status, 204)
      assert.equal(answer.headers['access-control-allow-origin'], undefined)
    }
    const rebound = await sendRequest(port, {
      method: 'OPTIONS',
      path: '/token',
      headers: { origin, host: 'evil.example' },
    })
    assert.equal(rebound.status, 403)
  })
})

it('changes of the allowed hosts and origins apply to the next request', async (t) => {
  let rules: { allowed_hosts: string[]; allowed_origins: string[] } = { allowed_hosts: [], allowed_origins: [] }
  const { port } = await runServer(t, { allowed: () => rules })
  const status = async (headers: Record<string, string>) =>
    (await sendRequest(port, { path: '/token', headers: withToken(headers) })).status
  assert.equal(await status({ host: 'chat.example.org' }), 403)
  assert.equal(await status({ origin: 'https://app.example.org' }), 403)
  rules = { allowed_hosts: ['chat.example.org'], allowed_origins: ['https://app.example.org'] }
  assert.equal(await status({ host: 'chat.example.org' }), 200)
  assert.equal(await status({ origin: 'https://app.example.org' }), 200)
})

it('errors of the gateway itself have the fields of an error of OpenAI', async (t) => {
  const { port } = await runServer(t)
  for (const [path, headers, type] of [
    ['/v1/missing', withToken(), 'invalid_request_error'],
    ['/v1/missing', {}, 'authentication_error'],
    ['/v1/missing', { host: 'evil.example' }, 'permission_error'],
  ] as const) {
    const { text } = await sendRequest(port, { path, headers })
    const { error } = JSON.parse(text)
    assert.deepEqual(
      [error.type, error.param, typeof error.message, typeof error.code],
      [type, null, 'string', 'string'],
    )
  }
})
