/**
 * Opens the proxy of commands that may reach listed hosts only. Imported when such a sandbox is opened.
 */
import { lookup } from 'node:dns/promises'
import { join } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import { createNetworkProxy } from '../../agent/sandbox/network-proxy.ts'
import type { Logger } from '../../lib/log.ts'
import { listenOnUnixSocket } from '../../lib/unix-socket.ts'
import { isPublicAddress } from '../../media/public-address.ts'

/**
 * The proxy reads the list of hosts for each connection. Resolves with a function that closes it. Rejects with a system error when
 * it cannot listen.
 * @param directory a private one, which commands see
 */
export function openSandboxProxy(
  directory: string,
  settings: () => Pick<AgentConfig, 'terminal'>,
  log: Logger,
): Promise<() => void> {
  const hosts = () => {
    const { sandbox_network } = settings().terminal
    return Array.isArray(sandbox_network) ? sandbox_network : []
  }
  const resolve = (name: string) => lookup(name, { all: true })
  const proxy = createNetworkProxy({ hosts, resolve, isAllowed: isPublicAddress, log })
  return listenOnUnixSocket(proxy, join(directory, 'proxy.sock'))
}
