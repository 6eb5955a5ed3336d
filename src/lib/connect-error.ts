/**
 * Detects network errors after which a request was certainly not executed, because no connection was made. Such a request
 * can be repeated safely.
 */
import { systemCode } from './errors.ts'

/**
 * Returns true if no connection was made, false if one was made or if it is unknown. Supports the errors of Node and
 * `fetch`, also wrapped by libraries as `cause` or `original`. Never throws.
 */
export function isConnectError(thrown: unknown): boolean {
  return isConnectErrorAtDepth(thrown, 0)
}

function isConnectErrorAtDepth(thrown: unknown, depth: number): boolean {
  if (!(thrown instanceof Error) || depth > 5) return false
  // One error per address.
  const errors = 'errors' in thrown && Array.isArray(thrown.errors) ? thrown.errors : []
  if (errors.length > 0) return errors.every((error) => isConnectErrorAtDepth(error, depth + 1))
  const syscall = 'syscall' in thrown ? thrown.syscall : parseSyscall(thrown.message)
  if (typeof syscall === 'string') return syscall === 'connect' || syscall === 'getaddrinfo'
  const code = systemCode(thrown) ?? ''
  if (connectErrorCodes.has(code) || /CERT|UNABLE_TO_VERIFY/.test(code)) return true
  return isConnectErrorAtDepth(thrown.cause ?? ('original' in thrown ? thrown.original : undefined), depth + 1)
}

/** `connect` of "... reason: connect EHOSTUNREACH 1.2.3.4:443". A host that becomes unreachable during a connection has the same code. */
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
