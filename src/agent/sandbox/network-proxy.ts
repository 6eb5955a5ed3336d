/**
 * The HTTP proxy of commands that may reach listed hosts only (`terminal.sandbox_network`), and of the browser. It resolves names
 * itself, and connects to the addresses that it has checked, so that a name cannot lead into the private network.
 */
import { createServer, type IncomingMessage, request as requestHttp, type Server, type ServerResponse } from 'node:http'
import { connect, isIP, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { systemCode } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'

export interface NetworkProxyDeps {
  /** Host names, `*.` for all below a name, each with an optional port. `any`: the address alone decides. */
  hosts(): readonly string[] | 'any'
  /** Resolves a name to all of its addresses. */
  resolve(name: string): Promise<readonly { readonly address: string }[]>
  /** Whether an address may be used. */
  isAllowed(address: string): boolean
  readonly log: Logger
  /** Called for each refused `host:port`. By default the log names a host once. */
  onRefused?(host: string): void
  /** Ends a connection without data, ms. */
  readonly idleTimeoutMs?: number
}

/** Limits the connections of all commands together. Further ones are closed. */
const maxConnections = 256
/** Refused hosts that the log names; a command may ask for any number. */
const maxLoggedHosts = 50
const defaultPorts: readonly number[] = [80, 443]
/** `host:port`, with an IPv6 address in brackets. */
const authority = /^((?:[^:@/[\]]+)|\[[\da-f:.]+\]):(\d{1,5})$/i

class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function createNetworkProxy(deps: NetworkProxyDeps): Server {
  const { log, idleTimeoutMs = 300_000 } = deps
  const logged = new Set<string>()

  /** The address to connect to. Rejects with a `Refusal`. */
  async function admit(host: string, port: number): Promise<string> {
    const name = host
      .toLowerCase()
      .replace(/\.$/, '')
      .replace(/^\[|\]$/g, '')
    try {
      const hosts = deps.hosts()
      if (hosts !== 'any' && !isListed(hosts, name, port)) throw new Refusal(403, notListed(name, port))
      const [first, ...others] = await resolveName(name)
      if (first === undefined || ![first, ...others].every(({ address }) => deps.isAllowed(address)))
        throw new Refusal(403, `${name} does not lead to a public address, so the gateway does not connect to it.\n`)
      return first.address
    } catch (error) {
      if (error instanceof Refusal && error.status === 403) (deps.onRefused ?? reportRefused)(`${name}:${port}`)
      throw error
    }
  }

  async function resolveName(name: string) {
    try {
      return await deps.resolve(name)
    } catch (error) {
      throw new Refusal(502, `The name ${name} could not be resolved (${systemCode(error) ?? 'no reason'}).\n`)
    }
  }

  function reportRefused(host: string): void {
    if (logged.has(host) || logged.size >= maxLoggedHosts) return
    logged.add(host)
    log.warn({ event: 'sandbox.host_refused', host }, 'a command may not reach this host (terminal.sandbox_network)')
  }

  /** `GET http://host/path`. */
  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(incoming.url ?? '')
    if (url === null || url.protocol !== 'http:')
      throw new Refusal(400, 'This is a proxy: it needs an absolute http address.\n')
    const port = url.port === '' ? 80 : Number(url.port)
    const address = await admit(url.hostname, port)
    if (response.destroyed) return
    const headers = withoutHopHeaders(incoming.headers)
    const outgoing = requestHttp({
      ...{ host: address, port, method: incoming.method, path: `${url.pathname}${url.search}`, agent: false },
      // The header names the admitted address, whatever the command wrote.
      headers: { ...headers, host: url.host },
      timeout: idleTimeoutMs,
    })
    const end = () => outgoing.destroy()
    outgoing.on('timeout', end)
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, withoutHopHeaders(answer.headers))
      pipeline(answer, response).catch(end)
    })
    outgoing.on('error', (error) => refuse(response, unreachable(url.hostname, error)))
    response.once('close', end)
    pipeline(incoming, outgoing).catch(end)
  }

  /** `CONNECT host:port`. */
  async function tunnel({ url = '' }: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    const [, host = '', portText = ''] = authority.exec(url) ?? []
    if (host === '') throw new Refusal(403, notListed(url.slice(0, 200), undefined))
    const address = await admit(host, Number(portText))
    if (client.destroyed) return
    const upstream = connect({ host: address, port: Number(portText) })
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    client.once('close', end).setTimeout(idleTimeoutMs, end)
    let isConnected = false
    upstream.on('error', (error) => (isConnected ? end() : refuseTunnel(client, unreachable(host, error))))
    upstream.once('connect', () => {
      isConnected = true
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      client.pipe(upstream).pipe(client)
    })
  }

  const server = createServer((incoming, response) => {
    forward(incoming, response).catch((error: unknown) => refuse(response, toRefusal(error)))
  })
  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    client.on('error', () => client.destroy())
    tunnel(incoming, client, head).catch((error: unknown) => refuseTunnel(client, toRefusal(error)))
  })
  server.on('error', (error) => {
    log.error({ event: 'sandbox.proxy_failed', err: error }, 'the proxy of commands failed')
  })
  server.maxConnections = maxConnections
  return server
}

function isListed(hosts: readonly string[], name: string, port: number): boolean {
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return false
  return hosts.some((entry) => {
    const [pattern = '', ownPort] = entry.toLowerCase().split(':')
    if (ownPort === undefined ? !defaultPorts.includes(port) : Number(ownPort) !== port) return false
    return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern
  })
}

function notListed(name: string, port: number | undefined): string {
  const entry = port === undefined || defaultPorts.includes(port) ? name : `${name}:${port}`
  return `${entry} is not in the list terminal.sandbox_network of this gateway, so commands of the agent may not reach it. An owner can add it to config.yaml.\n`
}

const toRefusal = (error: unknown) =>
  error instanceof Refusal ? error : new Refusal(502, 'The gateway could not connect.\n')

function unreachable(host: string, error: unknown): Refusal {
  return new Refusal(502, `${host} cannot be reached (${systemCode(error) ?? 'no reason'}).\n`)
}

function refuse(response: ServerResponse, { status, message }: Refusal): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(message)
}

function refuseTunnel(client: Socket, { status, message }: Refusal): void {
  const reason = status === 403 ? 'Forbidden' : status === 400 ? 'Bad Request' : 'Bad Gateway'
  const fields = ['content-type: text/plain; charset=utf-8', `content-length: ${Buffer.byteLength(message)}`]
  client.end([`HTTP/1.1 ${status} ${reason}`, ...fields, 'connection: close', '', message].join('\r\n'))
}

const hopHeaders = new Set([
  ...['connection', 'proxy-connection', 'keep-alive', 'proxy-authorization', 'proxy-authenticate'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])

function withoutHopHeaders(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopHeaders.has(name)))
}
