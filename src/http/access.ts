/**
 * Checks the bearer token, the Host and the Origin of a request. Pure functions.
 *
 * The token is required on loopback too. Host is checked because a foreign page can resolve its own name to 127.0.0.1 (DNS
 * rebinding), Origin because a foreign page can send POST requests. Forwarded headers are ignored.
 */
import { hash, timingSafeEqual } from 'node:crypto'

/** Compares digests, so that the duration reveals neither the content nor the length of the token. */
export function isBearerToken(header: string | undefined, token: string): boolean {
  const sent = /^bearer +([\x21-\x7e]+)$/i.exec(header ?? '')?.[1]
  return sent !== undefined && timingSafeEqual(digest(sent), digest(token))
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

export interface AddressRules {
  /** The configured listening address. */
  readonly host: string
  readonly allowed_hosts: readonly string[]
  readonly allowed_origins: readonly string[]
}

export interface AddressCheck {
  /** Whether the Host header names this gateway. Any port is allowed, because containers publish another one. */
  allowsHost(header: string | undefined): boolean
  /** Whether a page of this Origin may send requests. The header is absent for programs and for our own pages. */
  allowsOrigin(header: string | undefined, host: string | undefined): boolean
  /** Whether a browser may give responses to a page of this Origin, which another server delivered. */
  sharesWith(header: string | undefined): boolean
}

export function createAddressCheck(rules: AddressRules): AddressCheck {
  const allowed = new Set(rules.allowed_hosts.map(stripScheme))
  const origins = new Set(rules.allowed_origins.map((origin) => origin.replace(/\/$/, '').toLowerCase()))
  const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])
  const bound = rules.host.includes(':') ? `[${rules.host.toLowerCase()}]` : rules.host.toLowerCase()
  if (bound !== '0.0.0.0' && bound !== '[::]') loopbackNames.add(bound)

  const isAllowed = (name: string, port: string) => allowed.has(name) || allowed.has(`${name}:${port}`)

  const sharesWith = (header: string | undefined) => header !== undefined && origins.has(header.toLowerCase())

  return {
    sharesWith,
    allowsHost(header) {
      const address = parseHost(header)
      return address !== null && (loopbackNames.has(address.name) || isAllowed(address.name, address.port))
    },
    allowsOrigin(header, host) {
      if (header === undefined || sharesWith(header)) return true
      const page = URL.parse(header)
      if (page === null || (page.protocol !== 'http:' && page.protocol !== 'https:')) return false
      if (page.host === URL.parse(`${page.protocol}//${host}`)?.host) return true
      return isAllowed(page.hostname, page.port || (page.protocol === 'https:' ? '443' : '80'))
    },
  }
}

function parseHost(header: string | undefined): { name: string; port: string } | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+?)\.?(?::(\d{1,5}))?$/.exec((header ?? '').toLowerCase())
  return match?.[1] === undefined ? null : { name: match[1], port: match[2] ?? '80' }
}

/** Users also configure URLs. Only the name and the port are used. */
function stripScheme(entry: string): string {
  return entry
    .trim()
    .toLowerCase()
    .replace(/^[a-z]+:\/\//, '')
    .replace(/\/.*$/, '')
    .replace(/\.$/, '')
}
