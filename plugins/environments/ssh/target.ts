/**
 * Which account of which machine commands run on, checked so that no value can become an option of `ssh` or a part of a
 * command line in the ssh configuration of the user (`ProxyCommand` receives the host and the user).
 */
import { isAbsolute, join } from 'node:path'
import { HermesError } from '#sdk'

/** `terminal.ssh_*` of the configuration. An empty text stands for a value that is not set. */
interface TargetSettings {
  readonly host: string
  readonly user: string
  readonly port: number | undefined
  /** The file of the private key. `~` is the home directory of the gateway's user. */
  readonly key: string
  readonly hostKeys: HostKeyPolicy
  readonly knownHosts: string
}

/** `strict`: only hosts in known_hosts. `accept-new`: hosts that it does not name are added at the first connection. */
export type HostKeyPolicy = 'strict' | 'accept-new'

export interface SshTarget {
  readonly host: string
  /** Undefined: as the ssh configuration of the user says, and otherwise the name of the gateway's user. */
  readonly user: string | undefined
  /** Undefined: as the ssh configuration says, and otherwise 22. */
  readonly port: number | undefined
  readonly keyFile: string | undefined
  readonly hostKeys: HostKeyPolicy
  readonly knownHostsFile: string | undefined
}

const hostName = /^[a-z0-9_][a-z0-9._-]*$/i
const ipv6Address = /^[0-9a-f]*:[0-9a-f:.]*(?:%[a-z0-9_.-]+)?$/i
const userName = /^[a-z0-9_][a-z0-9._@\\+-]*$/i

/** Throws `environment/ssh-settings` with the name of the key that is wrong. */
export function sshTargetOf(settings: TargetSettings, userHome: string): SshTarget {
  const { port, hostKeys } = settings
  const host = settings.host.trim().replace(/^\[(.*)\]$/, '$1')
  if (host === '') throw invalid('terminal.ssh_host is not set.')
  if (host.includes('@')) throw invalid('terminal.ssh_host contains a user name; it belongs into terminal.ssh_user.')
  if (!hostName.test(host) && !ipv6Address.test(host)) {
    throw invalid(`terminal.ssh_host must be a host name or an address, not ${JSON.stringify(host)}.`)
  }
  const user = settings.user.trim()
  if (user !== '' && !userName.test(user)) {
    throw invalid(`terminal.ssh_user must be the name of an account, not ${JSON.stringify(user)}.`)
  }
  return {
    host,
    user: user === '' ? undefined : user,
    port,
    keyFile: fileOf('terminal.ssh_key', settings.key, userHome),
    hostKeys,
    knownHostsFile: fileOf('terminal.ssh_known_hosts', settings.knownHosts, userHome),
  }
}

/** How people write it: `user@host:22`. */
export function nameOf({ host, user, port }: SshTarget): string {
  const address = host.includes(':') ? `[${host}]` : host
  return `${user === undefined ? '' : `${user}@`}${address}${port === undefined ? '' : `:${port}`}`
}

function fileOf(key: string, text: string, userHome: string): string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const path = trimmed === '~' || trimmed.startsWith('~/') ? join(userHome, trimmed.slice(1)) : trimmed
  // ssh reads a list of files where a value has spaces, and has no way to write a quote.
  if (!isAbsolute(path) || /["\n\r]/.test(path)) {
    throw invalid(`${key} must be an absolute path, not ${JSON.stringify(text)}.`)
  }
  return path
}

const invalid = (detail: string) => new HermesError('environment/ssh-settings', detail)
