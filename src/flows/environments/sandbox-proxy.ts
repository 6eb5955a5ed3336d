/**
 * Opens the proxy of commands that may reach listed hosts only. Imported when such a sandbox is opened.
 */
import { lookup } from 'node:dns/promises'
import { join } from 'node:path'
import { createNetworkProxy, type NetworkProxyDeps } from '../../agent/sandbox/network-proxy.ts'
import { listenOnUnixSocket } from '../../lib/unix-socket.ts'
import { isPublicAddress } from '../../media/public-address.ts'

export interface SandboxProxyDeps extends Pick<NetworkProxyDeps, 'hosts' | 'log'> {
  /** A private directory that commands see. */
  readonly directory: string
}

/** Resolves with a function that closes the proxy. Rejects with a system error when it cannot listen. */
export function openSandboxProxy({ directory, hosts, log }: SandboxProxyDeps): Promise<() => void> {
  const resolve = (name: string) => lookup(name, { all: true })
  const proxy = createNetworkProxy({ hosts, resolve, isAllowed: isPublicAddress, log })
  return listenOnUnixSocket(proxy, join(directory, 'proxy.sock'))
}
