/**
 * What an MCP server names is no nearer to this machine than the server itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuardedFetch } from '../../../src/flows/mcp/guarded-fetch.ts'
import { startFileServer } from '../../media/file-server.ts'

const refused = { code: 'url-not-allowed' }

const cases: readonly { server: string; named: readonly string[]; refused: readonly string[] }[] = [
  {
    server: 'https://1.1.1.1/mcp',
    named: ['https://1.1.1.1/token', 'https://8.8.8.8/token'],
    refused: ['http://10.0.0.1/', 'http://127.0.0.1/', 'http://169.254.169.254/', 'https://user:secret@8.8.8.8/'],
  },
  {
    server: 'https://10.0.0.2/mcp',
    named: ['https://10.0.0.2:8443/token', 'https://192.168.3.4/token', 'https://8.8.8.8/token'],
    refused: ['http://127.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/', 'http://100.100.100.200/'],
  },
  {
    server: 'http://127.0.0.1:4000/mcp',
    named: ['http://127.0.0.1:5000/token', 'http://localhost:5000/token', 'https://10.0.0.1/token'],
    refused: ['http://169.254.169.254/', 'http://[fd00:ec2::254]/', 'file:///etc/passwd', 'gopher://127.0.0.1/'],
  },
]

for (const { server, named, refused: forbidden } of cases)
  test(`a server at ${server} names addresses that are no nearer than its own`, async () => {
    const { check, fetch } = createGuardedFetch(server)
    for (const url of named) await check(url)
    for (const url of forbidden) {
      await assert.rejects(check(url), refused, url)
      await assert.rejects(fetch(url), refused, url)
    }
  })

test('a server whose name leads into the own network afterwards is not asked there', async (t) => {
  const inner = await startFileServer(t, (response) => response.end('secret'))
  const answers = ['93.184.216.34', '127.0.0.1']
  const resolve = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }]
  const { fetch, check } = createGuardedFetch(`http://rebinding.test:${inner.port}/mcp`, { resolve })
  await check(`http://rebinding.test:${inner.port}/mcp`)
  await assert.rejects(fetch(`http://rebinding.test:${inner.port}/mcp`), refused)
  assert.equal(inner.requests.length, 0)
})

test('a server that pretends to be of the own network once gains nothing by it', async (t) => {
  const inner = await startFileServer(t, (response) => response.end('secret'))
  const answers = ['127.0.0.1', '93.184.216.34']
  const resolve = async () => [{ address: answers.shift() ?? '93.184.216.34', family: 4 }]
  const { fetch, check } = createGuardedFetch('http://rebinding.test/mcp', { resolve })
  await check('http://rebinding.test/mcp')
  await check('http://rebinding.test/mcp')
  await assert.rejects(fetch(inner.origin), refused)
  assert.equal(inner.requests.length, 0)
})

test('a redirect is followed without what was meant for the first server, and only for requests without a body', async (t) => {
  const second = await startFileServer(t, (response) => response.end('there'))
  const first = await startFileServer(t, (response) => response.writeHead(307, { location: second.origin }).end())
  const { fetch } = createGuardedFetch(first.origin)
  const headers = { authorization: 'Bearer secret', 'x-key': 'secret', accept: 'application/json' }
  assert.equal(await (await fetch(first.origin, { headers })).text(), 'there')
  const sent = second.requests[0]?.headers
  assert.deepEqual([sent?.authorization, sent?.['x-key'], sent?.accept], [undefined, undefined, 'application/json'])
  await assert.rejects(fetch(first.origin, { method: 'POST', body: 'x' }), { code: 'http-status' })
  await assert.rejects(fetch(first.origin, { redirect: 'error' }), { code: 'http-status' })
  assert.equal((await fetch(first.origin, { redirect: 'manual' })).status, 307)
  assert.equal(second.requests.length, 1)
})

test('a request carries its body and its headers, and the answer can be read in parts', async (t) => {
  const server = await startFileServer(t, async (response, request) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    response.writeHead(201, { 'content-type': 'text/plain', 'x-type': request.headers['content-type'] ?? '' })
    response.write('one ')
    response.end(Buffer.concat(chunks))
  })
  const { fetch } = createGuardedFetch(server.origin)
  const body = new URLSearchParams({ a: 'ä' })
  const response = await fetch(server.origin, { method: 'POST', body })
  assert.deepEqual([response.status, response.url], [201, `${server.origin}/`])
  assert.match(response.headers.get('x-type') ?? '', /^application\/x-www-form-urlencoded/)
  assert.equal(await response.text(), 'one a=%C3%A4')
})

test('a request ends with its signal', async (t) => {
  const stop = new AbortController()
  const reason = new Error('stop')
  const server = await startFileServer(t, () => stop.abort(reason))
  const { fetch } = createGuardedFetch(server.origin)
  await assert.rejects(fetch(server.origin, { signal: stop.signal }), (error) => error === reason)
})
