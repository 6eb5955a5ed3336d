/**
 * The server as clients and platforms use it: states, errors, limits, streams and shutdown.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import type { Readiness } from '../../src/http/readiness.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import { readyState, runServer, secret, sendRaw, sendRequest, withToken } from './support.ts'

describe('health and readiness', () => {
  it('/healthz is 200 while the process lives, in any state', async (t) => {
    const { port } = await runServer(t, { readiness: { ...readyState, lifecycle: { phase: 'draining' } } })
    const answer = await sendRequest(port, { path: '/healthz' })
    assert.equal(answer.status, 200)
    assert.equal((await sendRequest(port, { method: 'HEAD', path: '/healthz' })).text, '')
  })

  it('/readyz shows only the status without the token, and all details with it', async (t) => {
    const failed = { state: 'failed', reason: 'the token was refused' } as const
    const state: Readiness = {
      lifecycle: { phase: 'ready' },
      platforms: () => ({ telegram: failed }),
      degraded: () => ['disk'],
      isConnecting: () => true,
    }
    const { port } = await runServer(t, { readiness: state })
    assert.equal((await sendRequest(port, { path: '/readyz' })).text, '{"status":"ready"}')
    assert.equal(
      (await sendRequest(port, { path: '/readyz', headers: withToken({}, 'wrong') })).text,
      '{"status":"ready"}',
    )
    assert.deepEqual(JSON.parse((await sendRequest(port, { path: '/readyz', headers: withToken() })).text), {
      status: 'ready',
      platforms: { telegram: failed },
      degraded: ['disk'],
    })
  })

  for (const status of ['starting', 'draining'] as const) {
    it(`while ${status} /readyz is 503 and work is refused, but pages and the gateway's own routes are served`, async (t) => {
      const admin = { method: 'GET', path: '/admin', access: 'token', handle: () => new Response('ok') } as const
      const { port } = await runServer(t, {
        readiness: { ...readyState, lifecycle: { phase: status } },
        adminRoutes: [admin],
      })
      const probe = await sendRequest(port, { path: '/readyz' })
      assert.equal(probe.status, 503)
      assert.equal(probe.text, `{"status":"${status}"}`)
      const refused = await sendRequest(port, { path: '/token', headers: withToken() })
      assert.equal(refused.status, 503)
      assert.equal(refused.code, 'http/starting')
      assert.equal(refused.headers['retry-after'], '1')
      assert.equal((await sendRequest(port, { path: '/token' })).status, 401)
      assert.equal((await sendRequest(port, { method: 'POST', path: '/own' })).status, 503)
      assert.equal((await sendRequest(port, { path: '/public' })).status, 200)
      assert.equal((await sendRequest(port, { path: '/admin', headers: withToken() })).status, 200)
    })
  }

  it('an address that a connecting platform may still register is 503, not 404', async (t) => {
    const { port } = await runServer(t, { readiness: { ...readyState, isConnecting: () => true } })
    assert.equal((await sendRequest(port, { path: '/v1/models', headers: withToken() })).status, 503)
    assert.equal((await sendRequest(port, { path: '/' })).status, 503)
    assert.equal((await sendRequest(port, { path: '/token', headers: withToken() })).status, 200)
  })
})

describe('routes', () => {
  it('can be added and removed while the server runs', async (t) => {
    const { port, server } = await runServer(t)
    const headers = withToken()
    assert.equal((await sendRequest(port, { path: '/late', headers })).status, 404)
    const remove = server.route({ method: 'GET', path: '/late', access: 'token', handle: () => new Response('1') })
    assert.equal((await sendRequest(port, { path: '/late', headers })).text, '1')
    server.route({ method: 'GET', path: '/late', access: 'token', handle: () => new Response('2') })
    remove()
    assert.equal((await sendRequest(port, { path: '/late', headers })).text, '2')
  })

  it('match exactly before a prefix, and a longer prefix before a shorter one', async (t) => {
    const { port, server } = await runServer(t)
    for (const path of ['/*', '/a/*', '/a/b/*', '/a/b/c']) {
      server.route({ method: 'GET', path, access: 'public', handle: () => new Response(path) })
    }
    const found = async (path: string) => (await sendRequest(port, { path })).text
    assert.equal(await found('/a/b/c'), '/a/b/c')
    assert.equal(await found('/a/b/c?x=1'), '/a/b/c')
    assert.equal(await found('/a/b/d/e'), '/a/b/*')
    assert.equal(await found('/a/x'), '/a/*')
    assert.equal(await found('/a'), '/*')
    assert.equal(await found('/'), '/*')
    assert.equal(await found('/a/../../a/b/./c'), '/a/b/c')
    assert.equal(await found('/%zz'), '/*')
  })

  it('match variable segments after exact ones and before a prefix, with the methods of that path only', async (t) => {
    const { port, server } = await runServer(t)
    const add = (method: 'GET' | 'POST', path: string) =>
      server.route({ method, path, access: 'public', handle: () => new Response(`${method} ${path}`) })
    add('GET', '/a/*')
    add('GET', '/a/{id}')
    add('POST', '/a/{id}/stop')
    const remove = add('GET', '/a/{id}/{part}')
    add('GET', '/a/all')
    const found = async (path: string, method = 'GET') => {
      const { status, text, headers } = await sendRequest(port, { path, method })
      return status === 405 ? `405 ${headers['allow']}` : text
    }
    assert.equal(await found('/a/1'), 'GET /a/{id}')
    assert.equal(await found('/a/all'), 'GET /a/all')
    assert.equal(await found('/a/1/2'), 'GET /a/{id}/{part}')
    assert.equal(await found('/a/1/stop', 'POST'), 'POST /a/{id}/stop')
    assert.equal(await found('/a/1/stop'), '405 POST')
    assert.equal(await found('/a/1', 'POST'), '405 GET, HEAD')
    assert.equal(await found('/a/%2F'), 'GET /a/{id}')
    for (const path of ['/a/', '/a/1/', '/a//2', '/a/1/2/3']) assert.equal(await found(path), 'GET /a/*', path)
    remove()
    assert.equal(await found('/a/1/2'), 'GET /a/*')
  })

  it('answer an unknown address with 404 and a wrong method with 405, as JSON with a hint', async (t) => {
    const { port } = await runServer(t)
    const missing = await sendRequest(port, { path: '/nowhere', headers: withToken() })
    assert.equal(missing.status, 404)
    const { error } = JSON.parse(missing.text)
    assert.deepEqual(Object.keys(error), ['code', 'message', 'hint', 'type', 'param'])
    const wrong = await sendRequest(port, { method: 'DELETE', path: '/public' })
    assert.equal(wrong.status, 405)
    assert.equal(wrong.code, 'http/method-not-allowed')
    assert.equal(wrong.headers['allow'], 'GET, HEAD, POST')
    assert.equal((await sendRequest(port, { method: 'PROPFIND', path: '/public' })).status, 405)
  })

  it('receive the bytes, the address and the headers as they were sent', async (t) => {
    const { port, server } = await runServer(t)
    server.route({
      method: 'POST',
      path: '/webhooks/x',
      access: 'own',
      handle: async (request) =>
        Response.json({
          url: request.url,
          type: request.headers.get('content-type'),
          signature: request.headers.get('x-signature'),
          bytes: Buffer.from(await request.bytes()).toString('hex'),
        }),
    })
    const body = Buffer.from([0xff, 0x00, 0xfe, 0x7b, 0x22])
    const headers = { 'content-type': 'application/json; charset=utf-8', 'x-signature': 'v0=abc', host: 'localhost' }
    const answer = await sendRequest(port, { method: 'POST', path: '/webhooks/x?a=%20b', headers, body })
    assert.deepEqual(JSON.parse(answer.text), {
      url: 'http://localhost/webhooks/x?a=%20b',
      type: 'application/json; charset=utf-8',
      signature: 'v0=abc',
      bytes: 'ff00fe7b22',
    })
  })

  it('that throw are answered with 500 and a code, and are logged once without secrets', async (t) => {
    const { port, server, lines } = await runServer(t)
    server.route({
      method: 'GET',
      path: '/broken',
      access: 'token',
      handle: () => {
        throw new Error('a private detail')
      },
    })
    const answer = await sendRequest(port, { path: `/broken?key=${secret}`, headers: withToken() })
    assert.equal(answer.status, 500)
    assert.equal(answer.code, 'http/internal')
    assert.doesNotMatch(answer.text, /private detail/)
    const errors = lines.filter(({ level }) => level === 'error')
    assert.equal(errors.length, 1)
    assert.equal(errors[0]?.fields['route'], '/broken')
    assert.ok(!JSON.stringify(lines).includes(secret))
  })

  it('may throw an error of the catalogue: an authenticated client gets its text, any other client no details', async (t) => {
    const { port, server } = await runServer(t)
    for (const access of ['token', 'public'] as const) {
      const handle = () => Promise.reject(new HermesError('inbox/too-large', 'the file /home/me/x'))
      server.route({ method: 'GET', path: `/fails-${access}`, access, handle })
    }
    const owner = await sendRequest(port, { path: '/fails-token', headers: withToken() })
    assert.equal(owner.status, 413)
    assert.match(owner.text, /home\/me/)
    const stranger = await sendRequest(port, { path: '/fails-public' })
    assert.equal(stranger.code, 'inbox/too-large')
    assert.doesNotMatch(stranger.text, /home\/me/)
  })

  it('send security headers unless they set their own, also on errors', async (t) => {
    const { port, server } = await runServer(t)
    const csp = "default-src 'none'; script-src 'self'"
    const headers = new Headers({ 'content-security-policy': csp, 'content-type': 'text/html' })
    headers.append('set-cookie', 'a=1')
    headers.append('set-cookie', 'b=2')
    server.route({ method: 'GET', path: '/', access: 'public', handle: () => new Response('<p>', { headers }) })
    const page = await sendRequest(port, { path: '/' })
    assert.equal(page.headers['content-security-policy'], csp)
    assert.deepEqual(page.headers['set-cookie'], ['a=1', 'b=2'])
    for (const answer of [
      page,
      await sendRequest(port, { path: '/nowhere' }),
      await sendRequest(port, { path: '/public' }),
    ]) {
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
      assert.equal(answer.headers['x-frame-options'], 'DENY')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.headers['referrer-policy'], 'no-referrer')
      assert.equal(answer.headers['server'], undefined)
    }
  })
})

describe('bad input', () => {
  it('a body above the limit is 413, with and without an announced length', async (t) => {
    const { port } = await runServer(t, { max_body_mb: 0.01 })
    const body = Buffer.alloc(20_000)
    const announced = await sendRequest(port, { method: 'POST', path: '/token', headers: withToken(), body })
    assert.equal(announced.status, 413)
    assert.equal(announced.code, 'http/too-large')
    const headers = withToken({ 'transfer-encoding': 'chunked' })
    assert.equal((await sendRequest(port, { method: 'POST', path: '/token', headers, body })).status, 413)
    const fitting = await sendRequest(port, { method: 'POST', path: '/token', headers, body: body.subarray(0, 10_000) })
    assert.equal(fitting.status, 200)
  })

  it('an unauthenticated client cannot make the server read a large body', async (t) => {
    const { port } = await runServer(t)
    const head = 'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n'
    const { reply } = await sendRaw(port, `${head}only the beginning`)
    const answer = await reply
    assert.match(answer, /^HTTP\/1\.1 401 /)
    assert.match(answer, /connection: close/i)
  })

  it('unauthenticated clients cannot fill the memory with large bodies; small and authenticated requests are still accepted', async (t) => {
    const { port } = await runServer(t, { max_body_mb: 1 })
    const unfinished = (headers: string) => sendRaw(port, `POST /own HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n`)
    const heads = ['Content-Length: 1048576', 'Transfer-Encoding: chunked', 'Content-Length: 1048576']
    const open = await Promise.all([...heads, ...heads].map(unfinished))
    const refused = await Promise.any(open.map(async ({ reply }) => await reply))
    assert.match(refused, /^HTTP\/1\.1 503 [\s\S]*http\/busy/)
    const large = { method: 'POST', body: Buffer.alloc(1_000_000) }
    assert.equal((await sendRequest(port, { ...large, path: '/own' })).code, 'http/busy')
    assert.equal((await sendRequest(port, { method: 'POST', path: '/own', body: Buffer.alloc(60_000) })).status, 200)
    assert.equal((await sendRequest(port, { ...large, path: '/token', headers: withToken() })).status, 200)
    for (const { socket } of open) socket.destroy()
    let status = 503
    while (status === 503) ({ status } = await sendRequest(port, { ...large, path: '/own' }))
    assert.equal(status, 200)
  })

  const malformed: [string, string, RegExp][] = [
    ['no HTTP at all', 'hello\r\n\r\n', /^HTTP\/1\.1 400 [\s\S]*http\/bad-request/],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01', /^HTTP\/1\.1 400 /],
    ['huge headers', `GET /public HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ['a huge path', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ['no Host', 'GET /public HTTP/1.1\r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['no Host in HTTP/1.0', 'GET /public HTTP/1.0\r\n\r\n', /^HTTP\/1\.1 403 /],
    ['an empty Host', 'GET /public HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 40[03] /],
    [
      'another host in the target',
      'GET http://evil.com/public HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      /^HTTP\/1\.1 400 [\s\S]*not a path/,
    ],
    [
      'both a length and chunks',
      'POST /own HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a content type that is none',
      'POST /own HTTP/1.1\r\nHost: localhost\r\nContent-Type: ;;;\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi',
      /^HTTP\/1\.1 (200|415) /,
    ],
  ]
  for (const [what, bytes, expected] of malformed) {
    it(`${what} is refused with an error, and the server keeps running`, async (t) => {
      const { port, lines } = await runServer(t)
      const { socket, reply } = await sendRaw(port, bytes)
      assert.match(await reply, expected)
      socket.destroy()
      assert.equal((await sendRequest(port, { path: '/public' })).status, 200)
      assert.deepEqual(
        lines.filter(({ level }) => level !== 'debug'),
        [],
      )
    })
  }

  it('invalid JSON, invalid UTF-8 and JSON 100,000 levels deep reach the route as the original bytes', async (t) => {
    const { port } = await runServer(t)
    const bodies = ['{"broken', Buffer.from([0xc3, 0x28]), `${'['.repeat(100_000)}${']'.repeat(100_000)}`]
    for (const body of bodies) {
      const headers = withToken({ 'content-type': 'application/json' })
      const answer = await sendRequest(port, { method: 'POST', path: '/token', headers, body })
      assert.equal(answer.status, 200)
    }
  })

  it('a client that sends its headers too slowly gets an error and is disconnected', async (t) => {
    const { port } = await runServer(t, {
      limits: { headersTimeoutMs: 50, requestTimeoutMs: 60, connectionCheckIntervalMs: 20 },
    })
    const { reply } = await sendRaw(port, 'GET /public HTTP/1.1\r\nHost: local')
    assert.match(await reply, /^HTTP\/1\.1 408 [\s\S]*http\/timeout/)
  })
})

describe('streams', () => {
  it('arrive chunk by chunk: headers before the first chunk, each chunk before the next is generated', async (t) => {
    const { url, server } = await runServer(t)
    let push: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        push = controller
      },
    })
    server.route({ method: 'GET', path: '/live', access: 'token', handle: () => new Response(body) })
    const response = await fetch(`${url}/live`, { headers: withToken() })
    assert.equal(response.status, 200)
    const reader = response.body?.getReader()
    for (const piece of ['one', 'two']) {
      push?.enqueue(Buffer.from(piece))
      const read = await reader?.read()
      assert.equal(Buffer.from(read?.value ?? []).toString(), piece)
    }
    push?.close()
    assert.equal((await reader?.read())?.done, true)
  })

  it('are generated only as fast as the client reads', async (t) => {
    const { port, server } = await runServer(t)
    const piece = Buffer.alloc(64 * 1024)
    const total = 1_000
    let made = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        made++
        if (made > total) controller.close()
        else controller.enqueue(piece)
      },
    })
    server.route({ method: 'GET', path: '/large', access: 'public', handle: () => new Response(body) })
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    await once(socket, 'readable')
    // The socket is not read. A second response shows that the server had the opportunity to generate more.
    for (let i = 0; i < 50; i++) await sendRequest(port, { path: '/healthz' })
    assert.ok(made < total / 2, `${made} of ${total} pieces were made for a client that reads nothing`)
    socket.resume()
    await once(socket, 'close')
    assert.equal(made, total + 1)
  })

  it('end when the client disconnects: the stream is cancelled and the signal of the request aborts', async (t) => {
    const { url, server, lines } = await runServer(t)
    const cancelled = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    server.route({
      method: 'GET',
      path: '/live',
      access: 'token',
      handle: (request) => {
        request.signal.addEventListener('abort', () => aborted.resolve())
        return new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(Buffer.from('x')),
            cancel: () => cancelled.resolve(),
          }),
        )
      },
    })
    const client = new AbortController()
    const response = await fetch(`${url}/live`, { headers: withToken(), signal: client.signal })
    await response.body?.getReader().read()
    client.abort()
    await Promise.all([cancelled.promise, aborted.promise])
    assert.deepEqual(
      lines.filter(({ level }) => level !== 'debug'),
      [],
    )
  })

  it('of a client that disconnects before the response abort the signal of the request', async (t) => {
    const { url, server, lines } = await runServer(t)
    const entered = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    server.route({
      method: 'POST',
      path: '/slow',
      access: 'token',
      handle: async (request) => {
        entered.resolve()
        await once(request.signal, 'abort')
        aborted.resolve()
        throw request.signal.reason
      },
    })
    const client = new AbortController()
    const asked = fetch(`${url}/slow`, { method: 'POST', body: 'x', headers: withToken(), signal: client.signal })
    await entered.promise
    client.abort()
    await assert.rejects(asked)
    await aborted.promise
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    )
  })

  it('do not abort the signal after the response was received', async (t) => {
    const { port, server } = await runServer(t)
    let signal: AbortSignal | undefined
    const handle = (request: Request) => {
      signal = request.signal
      return new Response('done')
    }
    server.route({ method: 'GET', path: '/quick', access: 'public', handle })
    assert.equal((await sendRequest(port, { path: '/quick', headers: { connection: 'close' } })).text, 'done')
    await sendRequest(port, { path: '/healthz' })
    assert.equal(signal?.aborted, false)
  })

  it('that fail close the connection, so that a partial response is never taken as complete', async (t) => {
    const { url, server, lines } = await runServer(t)
    let sent = false
    const body = new ReadableStream({
      pull: (controller) => {
        if (sent) controller.error(new Error('the source broke'))
        else controller.enqueue(Buffer.from('half'))
        sent = true
      },
    })
    server.route({ method: 'GET', path: '/live', access: 'token', handle: () => new Response(body) })
    const response = await fetch(`${url}/live`, { headers: withToken() })
    await assert.rejects(response.text())
    assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
  })

  it('HEAD gives the headers of GET and cancels the body', async (t) => {
    const { port, server } = await runServer(t)
    const cancelled = Promise.withResolvers<void>()
    const body = () => new ReadableStream({ cancel: () => cancelled.resolve() })
    const headers = { 'x-kind': 'endless' }
    server.route({ method: 'GET', path: '/live', access: 'public', handle: () => new Response(body(), { headers }) })
    const answer = await sendRequest(port, { method: 'HEAD', path: '/live' })
    assert.equal(answer.headers['x-kind'], 'endless')
    assert.equal(answer.text, '')
    await cancelled.promise
  })
})

describe('starting and stopping', () => {
  it('a port in use is an error with the address', async (t) => {
    const { port } = await runServer(t)
    const settings = { host: '127.0.0.1', port, allowed_hosts: [], allowed_origins: [], max_body_mb: 1 }
    const second = createHttpServer({
      settings,
      allowed: () => settings,
      token: () => secret,
      readiness: readyState,
      log: silentLog,
    })
    await assert.rejects(second.start(), (error) => {
      assert.ok(error instanceof HermesError)
      assert.equal(error.code, 'http/port-in-use')
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}`))
      return true
    })
    await second.stop()
  })

  it('an address of another machine is an error', async () => {
    const settings = { host: '192.0.2.1', port: 0, allowed_hosts: [], allowed_origins: [], max_body_mb: 1 }
    const server = createHttpServer({
      settings,
      allowed: () => settings,
      token: () => secret,
      readiness: readyState,
      log: silentLog,
    })
    await assert.rejects(server.start(), { code: 'http/cannot-listen' })
  })

  it('a server on all addresses prints one that a browser can open', async (t) => {
    const settings = { host: '0.0.0.0', port: 0, allowed_hosts: [], allowed_origins: [], max_body_mb: 1 }
    const server = createHttpServer({
      settings,
      allowed: () => settings,
      token: () => secret,
      readiness: readyState,
      log: silentLog,
    })
    t.after(() => server.stop())
    const address = await server.start()
    assert.deepEqual(address, { host: '0.0.0.0', port: address.port, url: `http://127.0.0.1:${address.port}` })
    assert.equal((await fetch(`${address.url}/healthz`)).status, 200)
  })

  it('a stop waits for running responses, closes idle connections, and may be repeated', async (t) => {
    const { port, url, server } = await runServer(t, { limits: { graceMs: 60_000 } })
    const idle = await sendRaw(port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(idle.socket, 'data')
    // Browsers open connections in advance without a request.
    const unused = await sendRaw(port, '')
    const entered = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    server.route({
      method: 'GET',
      path: '/slow',
      access: 'public',
      handle: async () => {
        entered.resolve()
        await go.promise
        return new Response('finished')
      },
    })
    const asked = fetch(`${url}/slow`)
    await entered.promise
    const stopping = server.stop()
    assert.equal(server.stop(), stopping)
    go.resolve()
    assert.equal(await (await asked).text(), 'finished')
    await Promise.all([stopping, idle.reply, unused.reply])
    await assert.rejects(fetch(`${url}/healthz`))
  })

  it('a stop does not wait for endless streams', async (t) => {
    const { url, server } = await runServer(t, { limits: { graceMs: 20 } })
    const cancelled = Promise.withResolvers<void>()
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from('x')),
      cancel: () => cancelled.resolve(),
    })
    server.route({ method: 'GET', path: '/live', access: 'public', handle: () => new Response(body) })
    const response = await fetch(`${url}/live`)
    const read = response.text()
    await Promise.all([server.stop(), assert.rejects(read), cancelled.promise])
  })

  it('a server that was never started can be stopped', async () => {
    const settings = { host: '127.0.0.1', port: 0, allowed_hosts: [], allowed_origins: [], max_body_mb: 1 }
    await createHttpServer({
      settings,
      allowed: () => settings,
      token: () => secret,
      readiness: readyState,
      log: silentLog,
    }).stop()
  })
})

it('a token that cannot be read is answered with 500, also by the request that loads the routes', async (t) => {
  const { port } = await runServer(t, {
    token: () => {
      throw new Error('the token cannot be read')
    },
    lazyRoutes: { prefix: '/api/', load: async () => [] },
  })
  for (const _ of ['first', 'second']) {
    const { status } = await sendRequest(port, { path: '/api/late', headers: withToken() })
    assert.equal(status, 500)
  }
})

it('routes are loaded with the first request for one of them, and again when that failed', async (t) => {
  let loads = 0
  const { port } = await runServer(t, {
    lazyRoutes: {
      prefix: '/api/',
      async load() {
        loads += 1
        if (loads === 1) throw new Error('the code cannot be read')
        return [{ method: 'GET', path: '/api/late', access: 'token', handle: () => Response.json({ late: true }) }]
      },
    },
  })
  const ask = async (path: string, headers = withToken()) => {
    const { status, code, headers: answered } = await sendRequest(port, { path, headers })
    return [status, code, answered['allow']]
  }
  assert.deepEqual(await ask('/token'), [200, undefined, undefined])
  assert.equal(loads, 0)
  assert.deepEqual(await ask('/api/late'), [500, 'http/internal', undefined])
  assert.deepEqual(await Promise.all([ask('/api/late'), ask('/./api/late')]), [
    [200, undefined, undefined],
    [200, undefined, undefined],
  ])
  assert.deepEqual(await ask('/api/none'), [404, 'http/not-found', undefined])
  assert.deepEqual(await ask('/api/none', {}), [401, 'http/unauthorised', undefined])
  const { status, headers } = await sendRequest(port, { method: 'DELETE', path: '/api/late', headers: withToken() })
  assert.deepEqual([status, headers.allow, loads], [405, 'GET, HEAD', 2])
})
