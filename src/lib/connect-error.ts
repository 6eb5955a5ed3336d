/**
 * Whether a call over the network that failed can have been carried out: only one whose connection was never made
 * certainly was not, so that repeating it does nothing twice.
 */
import { systemCode } from './errors.ts'

/**
 * True: there was no connection, nothing was asked. False: there was one, or it is not known. Understands the errors of
 * Node and of `fetch`, and those that libraries wrap around them as `cause` or `original`. Never throws.
 */
export function isConnectError(thrown: unknown): boolean {
  return isConnectErrorAtDepth(thrown, 0)
}

function isConnectErrorAtDepth(thrown: unknown, depth: number): boolean {
  if (!(thrown instanceof Error) || depth > 5) return false
  // One for each address that was tried.
  const tries = 'errors' in thrown && Array.isArray(thrown.errors) ? thrown.errors : []
  if (tries.length > 0) return tries.every((one) => isConnectErrorAtDepth(one, depth + 1))
  const syscall = 'syscall' in thrown ? thrown.syscall : parseSyscall(thrown.message)
  if (typeof syscall === 'string') return syscall === 'connect' || syscall === 'getaddrinfo'
  const code = systemCode(thrown) ?? ''
  if (connectErrorCodes.has(code) || /CERT|UNABLE_TO_VERIFY/.test(code)) return true
  return isConnectErrorAtDepth(thrown.cause ?? ('original' in thrown ? thrown.original : undefined), depth + 1)
}

/** `connect` of "… reason: connect EHOSTUNREACH 1.2.3.4:443". A host that vanishes under a connection has the same code. */
function parseSyscall(message: string): string | undefined {
  return /\b(connect|getaddrinfo|read|write) E[A-Z_]+\b/.exec(message)?.[1]
}

const connectErrorCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])
