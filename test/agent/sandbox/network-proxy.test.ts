import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { createServer as createHttpServer, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { proxyPort } from '../../../src/agent/sandbox/detect-sandbox.ts'
import { createNetworkProxy } from '../../../src/agent/sandbox/network-proxy.ts'
import { createLog } from '../../../src/lib/log-writer.ts'
import { listenOnUnixSocket } from '../../../src/lib/unix-socket.ts'
import { isPublicAddress } from '../../../src/media/public-address.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { createVictim, sandboxSkip } from './victim.ts'

const skip = await sandboxSkip()

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return Object(server.address() satisfies AddressInfo | string | null).port
}

/** Reports what it received. */
function startWebServer(t: TestContext): Promise<number> {
  const server = createHttpServer(async (incoming, response) => {
    const body = await text(incoming)
    response.end(`${incoming.method} ${incoming.headers.host} ${incoming.url} ${body}`)
  })
  return listen(t, server)
}

const addresses: Readonly<Record<string, readonly string[]>> = {
  'listed.test': ['127.0.0.1'],
  'sub.wide.test': ['127.0.0.1'],
  'wide.test': ['127.0.0.1'],
  'other.test': ['127.0.0.1'],
  'private.test': ['10.0.0.8'],
  'half.test': ['127.0.0.1', '192.168.1.1'],
  'metadata.test': ['169.254.169.254'],
  'loopback.test': ['::1'],
  'mapped.test': ['::ffff:10.0.0.1'],
}

/** The server of the test stands for a public address. */
const isAllowed = (address: string) => address === '127.0.0.1' || isPublicAddress(address)

async function openProxy(
  t: TestContext,
  hosts: readonly string[],
  socketFile = join(tempHome(t), 'proxy.sock'),
  beforeResolving: () => Promise<void> = () => Promise.resolve(),
) {
  const lines: string[] = []
  const proxy = createNetworkProxy({
    hosts: () => hosts,
    async resolve(name) {
      await beforeResolving()
      const found = addresses[name]
      if (found === undefined) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
      return found.map((address) => ({ address }))
    },
    isAllowed,
    log: createLog({
      ...{ level: 'debug', pretty: false, redactor: (line: string) => line },
      stream: { write: (line) => lines.push(line) },
    }),
  })
  t.after(await listenOnUnixSocket(proxy, socketFile))
  return {
    lines,
    proxy,
    /** Sends a request for this address, as a client of a proxy does. */
    get: (url: string, options: { method?: string; body?: string; host?: string } = {}) =>
      new Promise<{ status: number; body: string }>((resolve, reject) => {
        const { method = 'GET', body = '', host = new URL(url).host } = options
        const sent = request({ socketPath: socketFile, path: url, method, headers: { host } }, async (response) =>
          resolve({ status: response.statusCode ?? 0, body: await text(response) }),
        )
        sent.on('error', reject).end(body)
      }),
    /** Asks for a tunnel; the text that comes back for `payload`. */
    async tunnel(target: string, payload = '') {
      const socket = connect(socketFile)
      socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`)
      const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
      const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(String(first)) ?? []
      if (status !== '200') return { status, echoed: '' }
      socket.end(payload)
      return { status, echoed: await text(socket) }
    },
  }
}

test('listed hosts are reached, with the method, the body and the host of the address', async (t) => {
  const port = await startWebServer(t)
  const { get } = await openProxy(t, [`listed.test:${port}`, `*.wide.test:${port}`])
  const posted = await get(`http://LISTED.test.:${port}/a?b`, { method: 'POST', body: 'hello', host: 'other.test' })
  assert.deepEqual(posted, { status: 200, body: `POST listed.test.:${port} /a?b hello` })
  assert.equal((await get(`http://sub.wide.test:${port}/`)).status, 200)
})

test('a tunnel to a listed host carries bytes in both directions', async (t) => {
  const port = await listen(
    t,
    createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)),
  )
  const { tunnel } = await openProxy(t, [`listed.test:${port}`])
  assert.deepEqual(await tunnel(`listed.test:${port}`, 'bytes'), { status: '200', echoed: 'bytes' })
})

test('the proxy goes on when a client leaves while its name is resolved', async (t) => {
  const port = await startWebServer(t)
  const socketFile = join(tempHome(t), 'proxy.sock')
  const resolved = Promise.withResolvers<void>()
  const resolving = new EventEmitter()
  const { get, proxy } = await openProxy(t, [`listed.test:${port}`], socketFile, () => {
    resolving.emit('started')
    return resolved.promise
  })
  const leave = async (head: string) => {
    const client = connect(socketFile)
    const [connection] = z.tuple([z.instanceof(Socket)]).parse(await once(proxy, 'connection'))
    client.write(`${head}\r\nhost: listed.test\r\n\r\n`)
    await once(resolving, 'started')
    client.destroy()
    return connection
  }
  await once(await leave(`GET http://listed.test:${port}/ HTTP/1.1`), 'close')
  // The proxy reads nothing from a tunnel before it is open.
  const tunnel = await leave(`CONNECT listed.test:${port} HTTP/1.1`)
  const closed = new Promise((resolve) => tunnel.once('close', resolve))
  resolved.resolve()
  await closed
  assert.equal((await get(`http://listed.test:${port}/`)).status, 200)
})

test('the proxy ends its request when a client leaves before the answer', async (t) => {
  const left = Promise.withResolvers<void>()
  const server = createHttpServer((incoming, response) => {
    if (incoming.url === '/slow') response.once('close', left.resolve)
    else response.end('here')
  })
  const port = await listen(t, server)
  const socketFile = join(tempHome(t), 'proxy.sock')
  const { get } = await openProxy(t, [`listed.test:${port}`], socketFile)
  const client = connect(socketFile)
  client.write(`GET http://listed.test:${port}/slow HTTP/1.1\r\nhost: listed.test\r\n\r\n`)
  await once(server, 'request')
  client.destroy()
  await left.promise
  assert.equal((await get(`http://listed.test:${port}/`)).body, 'here')
})

test('the proxy goes on when a client leaves at the moment of its answer', async (t) => {
  const clients: Socket[] = []
  const server = createHttpServer((_incoming, response) => {
    for (const client of clients.splice(0)) client.destroy()
    response.end('here')
  })
  const port = await listen(t, server)
  const socketFile = join(tempHome(t), 'proxy.sock')
  const { get } = await openProxy(t, [`listed.test:${port}`], socketFile)
  for (let count = 0; count < 30; count += 1) {
    const client = connect(socketFile)
    clients.push(client)
    client.write(`GET http://listed.test:${port}/ HTTP/1.1\r\nhost: listed.test\r\n\r\n`)
    await once(client, 'close')
  }
  assert.equal((await get(`http://listed.test:${port}/`)).body, 'here')
})

test('other hosts, other ports, address literals and names of private addresses are refused, and the log names them', async (t) => {
  const port = await startWebServer(t)
  const listed = Object.keys(addresses).filter((name) => !['other.test', 'wide.test', 'sub.wide.test'].includes(name))
  const { get, tunnel, lines } = await openProxy(t, [
    ...[...listed, 'unknown.test', '127.0.0.1', '*.wide.test'].map((name) => `${name}:${port}`),
    'port.test',
  ])
  const refused = [
    ...['other.test', 'wide.test', 'evilwide.test', 'listed.test.evil.test', 'xlisted.test', '127.0.0.1', '[::1]'],
    ...['private.test', 'half.test', 'metadata.test', 'loopback.test', 'mapped.test', '2130706433', '0x7f.1'],
  ]
  for (const host of refused) {
    assert.equal((await get(`http://${host}:${port}/`)).status, 403, host)
    assert.equal((await tunnel(`${host}:${port}`)).status, '403', host)
  }
  const { body } = await get(`http://other.test:${port}/`)
  assert.match(body, /^other\.test:\d+ is not in the list terminal\.sandbox_network/)
  for (const target of [
    'listed.test:22',
    `port.test:${port}`,
    'user@listed.test:80',
    'listed.test',
    `a:b:${port}`,
    ':80',
  ])
    assert.equal((await tunnel(target)).status, '403', target)
  assert.equal((await tunnel(`unknown.test:${port}`)).status, '502')
  assert.equal((await get(`/no/absolute/address`, { host: 'listed.test' })).status, 400)
  assert.ok(lines.some((line) => line.includes('sandbox.host_refused') && line.includes('other.test')))
})

test('a command reaches the listed host through the proxy, and nothing else', { skip }, async (t) => {
  const port = await startWebServer(t)
  await using victim = await createVictim({
    sharesNetwork: false,
    forwarderOf: (directory) => [process.execPath, join(directory, 'forwarder.mjs'), String(proxyPort)],
  })
  const directory = join(victim.home, 'cache/sandbox/bin')
  const source = new URL('../../../src/agent/sandbox/inside/forwarder.mjs', import.meta.url)
  copyFileSync(source, join(directory, 'forwarder.mjs'))
  await openProxy(t, [`listed.test:${port}`], join(directory, 'proxy.sock'))
  const script = `
    const show = async (url) => { try { const r = await fetch(url); return r.status + ' ' + (await r.text()).split(' ')[0] } catch { return 'failed' } }
    const direct = await fetch('http://127.0.0.1:${port}/').then(() => 'OPEN', () => 'closed')
    console.log(await show('http://listed.test:${port}/'), '|', await show('http://other.test:${port}/'), '|', direct)`
  const { output } = await victim.run(`'${process.execPath}' --input-type=module -e "$SCRIPT"; cat missing; (exit 7)`, {
    variables: { SCRIPT: script },
  })
  assert.match(output, /^200 GET \| failed \| closed\n.*missing/s)
  assert.equal((await victim.run('exit 7')).exitCode, 7)
  assert.equal((await victim.run('kill -TERM $$')).exitCode, 143)
  assert.equal((await victim.run('pwd; exec 2>&1; echo err >&2')).output, `${victim.cwd}\nerr\n`)
  assert.equal((await victim.run('sleep 60', { timeoutMs: 1_000 })).timedOut, true)
})
