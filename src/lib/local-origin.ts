/**
 * The URL origin under which a browser on this machine reaches a server.
 */

/** The origin of a server that listens on `host`. A wildcard address is replaced by the loopback address. */
export function localOrigin(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
