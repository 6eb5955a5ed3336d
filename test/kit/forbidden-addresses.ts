/**
 * Addresses that nothing may ask when a model, a page, a server or a stranger names them, and ways to prove that nothing was asked.
 * Whatever fetches addresses is tested with this one list (`test/security/forbidden-addresses.test.ts`).
 */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type AddressScope, addressScope } from '../../src/media/public-address.ts'

/** Stands for the internet: a server of a test listens there, and the rules of the test count it as public. */
export const publicAddress = '127.0.0.2'

/** URLs with `PORT` where a server of this machine listens. */
const templates: readonly string[] = [
  // This machine.
  ...['127.0.0.1', '127.0.0.1.', '127.8.9.1', '127.1', '127.0.1', '0', '0.0.0.0', '0.1.2.3'].map(withPort),
  ...['2130706433', '0x7f000001', '0x7f.1', '0x7f.0.0.0x1', '0177.0.0.1', '017700000001', '127.0.0.0x1'].map(withPort),
  ...['①②⑦.0.0.1', '１２７.０.０.１', '127。0。0。1', '127.0.0.%31', '%31%32%37.0.0.1'].map(withPort),
  ...['localhost', 'LOCALHOST', 'localhost.', 'ⓛocalhost', 'page.localhost', 'ip6-localhost'].map(withPort),
  ...['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]'].map(withPort),
  ...['[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::1]'].map(withPort),
  ...['[::ffff:0:127.0.0.1]', '[::1%25lo]'].map(withPort),
  'http://127.0.0.1:22/',
  'http://127.0.0.1:6379/',
  'https://127.0.0.1:PORT/',
  // Metadata services.
  ...['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518'].map(withoutPort),
  ...['[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '[2002:a9fe:a9fe::1]', '[fd00:ec2::254]'].map(withoutPort),
  ...['[fd20:ce::254]', '100.100.100.200', '168.63.129.16', '192.0.0.192', '169.254.170.2'].map(withoutPort),
  'http://metadata.google.internal/computeMetadata/v1/',
  // Networks that are not the internet.
  ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '198.18.0.1', '192.0.2.1'].map(
    withoutPort,
  ),
  ...['192.88.99.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '[fc00::1]', '[fe80::1]', '[fec0::1]'].map(
    withoutPort,
  ),
  ...['[ff02::1]', '[100::1]', '[2001:db8::1]', '[4000::1]', '[fe80::1%25eth0]'].map(withoutPort),
  // Names that lead there.
  ...['intranet.test', 'loopback.test', 'metadata.test', 'v6.test', 'mapped.test', 'mixed.test'].map(withPort),
  ...['xn--intrnet-6ya.test', 'inträNET.test', 'intranet.test.', 'mixed-v6.test'].map(withPort),
  // What looks like another host.
  'http://example.org@127.0.0.1:PORT/',
  'http://example.org:80@127.0.0.1:PORT/',
  'http://example.org%2F@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT#@example.org/',
  'http://127.0.0.1:PORT\\@example.org/',
  'http://127.0.0.1:PORT?@example.org/',
  `http://user:secret@${publicAddress}:PORT/`,
  'http:127.0.0.1:PORT/',
  'http:///127.0.0.1:PORT/',
  'HtTp://127.0.0.1:PORT/',
  ' http://127.0.0.1:PORT/',
  'ht\ntp://127.0.0.1:PORT/',
  '//127.0.0.1:PORT/',
  // Other schemes.
  ...['file:///etc/passwd', 'file://127.0.0.1/etc/passwd', 'data:text/plain,secret', 'javascript:fetch(1)'],
  ...['gopher://127.0.0.1:PORT/_GET', 'ftp://127.0.0.1:PORT/', 'dict://127.0.0.1:PORT/', 'ws://127.0.0.1:PORT/'],
  ...['ldap://127.0.0.1:PORT/', 'unix:/run/docker.sock', 'blob:http://127.0.0.1:PORT/1', 'about:blank'],
  ...['view-source:http://127.0.0.1:PORT/', 'jar:http://127.0.0.1:PORT!/a', 'chrome://version', 'http://', ''],
]

function withPort(host: string): string {
  return `http://${host}:PORT/`
}

function withoutPort(host: string): string {
  return `http://${host}/latest/meta-data/`
}

/** @param port of a server of this machine that must not be asked */
export function forbiddenUrls(port: number): readonly string[] {
  return templates.map((template) => template.replace('PORT', String(port)))
}

/** The values of `Location` with which a public server sends its visitors where they may not go. */
export function forbiddenLocations(port: number): readonly string[] {
  return [
    ...[`http://127.0.0.1:${port}/`, `//127.0.0.1:${port}/`, `http://[::1]:${port}/`, `http://2130706433:${port}/`],
    ...['http://169.254.169.254/latest/meta-data/', 'http://[fd00:ec2::254]/', `http://intranet.test:${port}/`],
    ...['file:///etc/passwd', 'data:text/plain,secret', 'gopher://127.0.0.1/', `http://a:b@${publicAddress}:${port}/`],
  ]
}

export const redirectStatuses = [301, 302, 303, 307, 308] as const

const names: Readonly<Record<string, readonly string[]>> = {
  'public.test': [publicAddress],
  'intranet.test': ['10.1.2.3'],
  'loopback.test': ['127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'v6.test': ['::1'],
  'mapped.test': ['::ffff:10.0.0.1'],
  'mixed.test': [publicAddress, '127.0.0.1'],
  'mixed-v6.test': ['2606:4700::1111', 'fd00::1'],
  'metadata.google.internal': ['169.254.169.254'],
  'xn--intrnet-6ya.test': ['10.1.2.3'],
  'xn--intrnet-5wa.test': ['10.1.2.3'],
}

/** The rules under which `publicAddress` is a part of the internet. `rebinding.test` is public once, and this machine afterwards. */
export function testRules() {
  let asked = 0
  return {
    isAllowed: (address: string) => scopeOf(address) === 'public',
    scopeOf,
    async resolve(name: string): Promise<{ address: string; family: number }[]> {
      const plain = name.replace(/\.$/, '')
      if (plain === 'rebinding.test') asked += 1
      const found =
        plain === 'rebinding.test'
          ? [asked === 1 ? publicAddress : '127.0.0.1']
          : (names[plain] ?? (/(?:^|[.-])localhost$/.test(plain) ? ['127.0.0.1'] : undefined))
      if (found === undefined) throw Object.assign(new Error(`no address of ${name}`), { code: 'ENOTFOUND' })
      return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    },
  }
}

function scopeOf(address: string): AddressScope {
  return address === publicAddress ? 'public' : addressScope(address)
}

export interface PublicServer {
  readonly port: number
  readonly origin: string
  readonly requests: readonly IncomingMessage[]
}

/** A server on `publicAddress`: `/<status>/<location>` redirects, and all else gets what `body` returns. */
export async function startPublicServer(
  t: TestContext,
  body: (origin: string) => { readonly type: string; readonly content: string | Buffer },
): Promise<PublicServer> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    const [, status, location] = /^\/(\d{3})\/(.+)$/.exec(request.url ?? '') ?? []
    if (status !== undefined && location !== undefined)
      return void response.writeHead(Number(status), { location: decodeURIComponent(location) }).end()
    const { type, content } = body(origin)
    response.writeHead(200, { 'content-type': type }).end(content)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, publicAddress, resolve)
  })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const port = portOf(server.address())
  const origin = `http://${publicAddress}:${port}`
  return { port, origin, requests }
}

function portOf(address: AddressInfo | string | null): number {
  assert.ok(typeof address === 'object' && address !== null)
  return address.port
}

/**
 * Records each address with which this process opens a connection to one of these ports, or to those of HTTP, as `address:port`. Other
 * tests of the process may use other ports.
 */
export function recordConnections(t: TestContext, ports: readonly number[]): readonly string[] {
  const attempts: string[] = []
  const watched = new Set([...ports, 22, 80, 443, 6379])
  const record = (message: unknown) => {
    const socket: unknown = Object(message).socket
    if (socket instanceof Socket) {
      socket.on('connectionAttempt', (address, port) => {
        if (watched.has(port)) attempts.push(`${address}:${port}`)
      })
    }
  }
  subscribe('net.client.socket', record)
  t.after(() => unsubscribe('net.client.socket', record))
  return attempts
}
