/**
 * How a browser on this machine reaches a server.
 */

/** The origin of a server that listens on `host`; a server on every address is reached over the loopback. */
export function localOrigin(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
