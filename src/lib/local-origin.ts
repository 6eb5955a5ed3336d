/**
 * Addresses of this machine: the URL origin under which a browser on it reaches a server, and the hosts that lead to it.
 */

/** The origin of a server that listens on `host`. A wildcard address is replaced by the loopback address. */
export function localOrigin(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** @param host as a URL contains it, with or without a port */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i.test(host)
}
