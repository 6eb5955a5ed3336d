import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { DownloadError, type DownloadErrorCode } from '../../src/media/download-error.ts'
import { type SafeFetchOptions, type SafeFetchRequest, safeFetch } from '../../src/media/safe-fetch.ts'
import { loopbackHosts } from './closed-addresses.ts'
import { startFileServer } from './file-server.ts'

const longTimeouts: SafeFetchOptions = { idleTimeoutMs: 10_000, totalTimeoutMs: 10_000 }

async function fetchText(
  {
    trusted,
    ...request
  }: Partial<Omit<SafeFetchRequest, 'trusted'>> & { readonly url: string; readonly trusted?: string },
  deps: Partial<SafeFetchOptions> = {},
  signal = new AbortController().signal,
) {
  const pieces: Uint8Array[] = []
  const take = async (bytes: Uint8Array) => void pieces.push(bytes)
  const { contentType } = await safeFetch(
    { maxBytes: 1_048_576, ...request, trusted: trusted === undefined ? [] : [trusted] },
    take,
    signal,
    {
      ...longTimeouts,
      ...deps,
    },
  )
  return { contentType, text: Buffer.concat(pieces).toString() }
}

/** @param data what the message contains */
function isMediaError(code: DownloadErrorCode, data = '') {
  return (error: unknown) => {
    assert.ok(error instanceof DownloadError, `${error}`)
    assert.equal(error.code, code)
    assert.ok(error.message.includes(data), error.message)
    return true
  }
}

test('a file is downloaded with its type from a configured private origin', async (t) => {
  const { origin, requests } = await startFileServer(t, (response) => {
    response.setHeader('content-type', 'text/plain').end('hello')
  })
  const file = await fetchText({ url: `${origin}/a?b=c`, trusted: `${origin}/api`, headers: { 'x-key': 'k' } })
  assert.deepEqual(file, { contentType: 'text/plain', text: 'hello' })
  assert.equal(requests[0]?.url, '/a?b=c')
  assert.equal(requests[0]?.headers['x-key'], 'k')
  assert.equal(requests[0]?.headers['accept-encoding'], 'identity')
})

test('loopback and private addresses are not requested, in any notation', async (t) => {
  const { port, requests } = await startFileServer(t, (response) => response.end('secret'))
  for (const host of loopbackHosts) {
    await assert.rejects(fetchText({ url: `http://${host}:${port}/` }), isMediaError('url-not-allowed'), host)
  }
  await assert.rejects(fetchText({ url: 'http://169.254.169.254/latest/meta-data/' }), isMediaError('url-not-allowed'))
  assert.equal(requests.length, 0)
})

test('trust is limited to the exact origin', async (t) => {
  const { port, origin, requests } = await startFileServer(t, (response) => response.end('secret'))
  for (const trusted of [`http://localhost:${port}`, `https://127.0.0.1:${port}`, 'http://127.0.0.1', 'nonsense']) {
    await assert.rejects(fetchText({ url: origin, trusted }), isMediaError('url-not-allowed'), trusted)
  }
  assert.equal(requests.length, 0)
})

test('only http and https URLs without credentials are requested', async () => {
  await assert.rejects(fetchText({ url: 'file:///etc/passwd' }), isMediaError('url-not-allowed'))
  await assert.rejects(fetchText({ url: 'data:text/plain,hi' }), isMediaError('url-not-allowed'))
  await assert.rejects(fetchText({ url: 'ftp://example.org/a' }), isMediaError('url-not-allowed'))
  await assert.rejects(fetchText({ url: 'http://user:secret@example.org/' }), isMediaError('url-not-allowed'))
  await assert.rejects(fetchText({ url: 'no address' }), isMediaError('invalid-url'))
})

test('a redirect into a private network is not followed', async (t) => {
  const inner = await startFileServer(t, (response) => response.end('secret'))
  const outer = await startFileServer(t, (response) => response.writeHead(302, { location: inner.origin }).end())
  await assert.rejects(fetchText({ url: outer.origin, trusted: outer.origin }), isMediaError('url-not-allowed'))
  for (const location of ['file:///etc/passwd', 'http://a:b@127.0.0.1/']) {
    const server = await startFileServer(t, (response) => response.writeHead(302, { location }).end())
    await assert.rejects(fetchText({ url: server.origin, trusted: server.origin }), isMediaError('url-not-allowed'))
  }
  assert.equal(inner.requests.length, 0)
})

test('a public server cannot redirect to a configured private origin, but that origin may redirect within itself', async (t) => {
  const inner = await startFileServer(t, (response, { url }) => {
    if (url === '/moved') response.writeHead(302, { location: '/file' }).end()
    else response.end('secret')
  })
  const trusted = `http://localhost:${inner.port}`
  const outer = await startFileServer(t, (response) => response.writeHead(302, { location: `${trusted}/admin` }).end())
  assert.equal((await fetchText({ url: `${trusted}/moved`, trusted })).text, 'secret')
  assert.equal(inner.requests.length, 2)
  const deps = {
    isAllowed: (address: string) => address === '127.0.0.1',
    resolve: async (name: string) => [{ address: name === 'public.example' ? '127.0.0.1' : '10.0.0.1', family: 4 }],
  }
  const url = `http://public.example:${outer.port}/`
  await assert.rejects(fetchText({ url, trusted }, deps), isMediaError('url-not-allowed'))
  assert.deepEqual([outer.requests.length, inner.requests.length], [1, 2])
})

test('credentials are sent only to the first origin, also after a redirect back', async (t) => {
  const names = ['files.example', 'other.example']
  const server = await startFileServer(t, (response, { url = '', headers }) => {
    const here = `http://files.example:${server.port}`
    const next = { '/one': '/two', '/two': `http://other.example:${server.port}/three`, '/three': `${here}/four` }[url]
    if (next === undefined) response.end(`${headers.authorization}`)
    else response.writeHead(302, { location: next }).end()
  })
  const deps = {
    isAllowed: () => true,
    resolve: async (name: string) => {
      assert.ok(names.includes(name))
      return [{ address: '127.0.0.1', family: 4 }]
    },
  }
  const headers = { authorization: 'Bearer secret' }
  const file = await fetchText({ url: `http://files.example:${server.port}/one`, headers }, deps)
  assert.equal(file.text, 'undefined')
  assert.deepEqual(
    server.requests.map(({ url, headers }) => `${url} ${headers.authorization}`),
    ['/one Bearer secret', '/two Bearer secret', '/three undefined', '/four undefined'],
  )
})

test('redirects end after five', async (t) => {
  const server = await startFileServer(t, (response, { url }) => {
    const hop = Number(url?.slice(1))
    if (hop === 0) response.end('there')
    else response.writeHead(307, { location: `/${hop - 1}` }).end()
  })
  const trusted = server.origin
  assert.equal((await fetchText({ url: `${trusted}/5`, trusted })).text, 'there')
  await assert.rejects(fetchText({ url: `${trusted}/6`, trusted }), isMediaError('too-many-redirects'))
})

test('a name is resolved once, and the connection uses the checked address', async (t) => {
  const server = await startFileServer(t, (response) => response.end('hello'))
  const answers = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
  const asked: string[] = []
  const rebinding = async () => {
    const address = answers[asked.length] ?? ''
    asked.push(address)
    return [{ address, family: 4 }]
  }
  const deps = { resolve: rebinding, isAllowed: (address: string) => address === '127.0.0.1' }
  assert.equal((await fetchText({ url: `http://evil.example:${server.port}/` }, deps)).text, 'hello')
  assert.deepEqual(asked, ['127.0.0.1'])
  await assert.rejects(fetchText({ url: `http://evil.example:${server.port}/` }, deps), isMediaError('url-not-allowed'))
  assert.equal(server.requests.length, 1)
})

test('a name with a private and a public address is rejected', async () => {
  const resolve = async () => [
    { address: '8.8.8.8', family: 4 },
    { address: '10.0.0.1', family: 4 },
  ]
  await assert.rejects(fetchText({ url: 'http://both.example/' }, { resolve }), isMediaError('url-not-allowed'))
  await assert.rejects(
    fetchText({ url: 'http://none.example/' }, { resolve: async () => [] }),
    isMediaError('no-address'),
  )
})

test('a file above the limit is rejected by its declared size or as soon as too much was received', async (t) => {
  const server = await startFileServer(t, (response, { url }) => {
    if (url === '/says') response.setHeader('content-length', '2000000')
    const more = () => response.write(Buffer.alloc(65_536)) && setImmediate(more)
    response.on('drain', more)
    more()
  })
  const tooLarge = isMediaError('too-large', '1 MB')
  for (const path of ['says', 'silent']) {
    await assert.rejects(fetchText({ url: `${server.origin}/${path}`, trusted: server.origin }), tooLarge, path)
  }
})

test('a download from a silent or slow server times out', async (t) => {
  const silent = await startFileServer(t, () => undefined)
  const timedOut = isMediaError('timeout')
  await assert.rejects(fetchText({ url: silent.origin, trusted: silent.origin }, { idleTimeoutMs: 30 }), timedOut)
  const trickling = await startFileServer(t, (response) => {
    const timer = setInterval(() => response.write('x'), 5)
    response.on('close', () => clearInterval(timer))
  })
  await assert.rejects(
    fetchText({ url: trickling.origin, trusted: trickling.origin }, { totalTimeoutMs: 60 }),
    timedOut,
  )
})

test('a DNS query without response times out', async () => {
  const resolve = () => new Promise<never>(() => undefined)
  await assert.rejects(
    fetchText({ url: 'http://slow.example/' }, { resolve, idleTimeoutMs: 20 }),
    isMediaError('timeout'),
  )
})

test('an aborted download rejects with the reason of the signal', async (t) => {
  const stop = new AbortController()
  const reason = new Error('stopping')
  const server = await startFileServer(t, (response) => {
    response.write('x')
    stop.abort(reason)
  })
  const download = fetchText({ url: server.origin, trusted: server.origin }, {}, stop.signal)
  await assert.rejects(download, (error) => error === reason)
})

test('the status of a failed download is reported', async (t) => {
  const server = await startFileServer(t, (response, { url }) => {
    response.statusCode = Number(url?.slice(1))
    response.end('<html>')
  })
  for (const status of [204, 206, 304, 401, 404, 500]) {
    await assert.rejects(
      fetchText({ url: `${server.origin}/${status}`, trusted: server.origin }),
      isMediaError('http-status', String(status)),
    )
  }
})

test('a known sign-in page is reported as rejected credentials', async (t) => {
  const server = await startFileServer(t, (response) => {
    response.setHeader('content-type', 'text/HTML; charset=utf-8').end('<html>sign in</html>')
  })
  const request = { url: server.origin, trusted: server.origin }
  await assert.rejects(fetchText({ ...request, refusedType: 'text/html' }), isMediaError('credentials-rejected'))
  assert.match((await fetchText(request)).text, /sign in/)
})

test('an interrupted connection fails the download', async (t) => {
  const server = await startFileServer(t, (response) => {
    response.setHeader('content-length', '100')
    response.write('half', () => response.destroy())
  })
  await assert.rejects(fetchText({ url: server.origin, trusted: server.origin }), isMediaError('unreachable'))
})

test('a server that is absent or does not speak HTTP is reported as unreachable', async (t) => {
  const port = await portOf(t, 'SSH-2.0-nonsense\r\n')
  const unreachable = (error: unknown) =>
    error instanceof DownloadError && error.code === 'unreachable' && /\([A-Z_]+\)$/.test(error.message)
  await assert.rejects(fetchText({ url: `http://127.0.0.1:${port}`, trusted: `http://127.0.0.1:${port}` }), unreachable)
  await assert.rejects(fetchText({ url: 'http://gone.invalid/' }, { resolve: notFound }), unreachable)
})

async function notFound(): Promise<never> {
  throw Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
}

async function portOf(t: TestContext, greeting: string): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => undefined).end(greeting))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
