/**
 * `terminal.backend: ssh`: commands and files are those of another machine, which the system's `ssh` reaches. All
 * conversations of a process share one connection.
 */
import { z } from 'zod'
import { type EnvironmentCheck, type EnvironmentKind, isHermesError, type RemoteClient } from '#sdk'
import type { SettingsRequest } from '../shared/settings.ts'
import { type SharedClient, shareClient } from '../shared/shared-client.ts'
import { createSshConnection, type SshConnectionOptions } from './connection.ts'
import { removeAbandonedSockets, socketPathOf } from './control-socket.ts'
import { nameOf, type SshTarget, sshTargetOf } from './target.ts'

/** The keys of `terminal` that this kind reads. The configuration of the gateway has their defaults. */
export const sshSettings = z.object({
  ssh_host: z.string(),
  ssh_user: z.string(),
  ssh_port: z.number().optional(),
  ssh_key: z.string(),
  ssh_host_keys: z.enum(['strict', 'accept-new']),
  ssh_known_hosts: z.string(),
  ssh_cwd: z.string(),
})

export type SshSettings = z.output<typeof sshSettings>

type Request = SettingsRequest<SshSettings>

export type SshKindOptions = Pick<SshConnectionOptions, 'program' | 'aliveSeconds' | 'connectSeconds' | 'idleSeconds'>

export function createSshKind(options: SshKindOptions = {}): EnvironmentKind<SshSettings> {
  /** One for each target. The variables are those of the latest request: an agent of ssh may be another one. */
  const connections = new Map<string, { readonly client: SharedClient; request: Request }>()

  function share(request: Request, target: SshTarget): RemoteClient {
    const key = JSON.stringify(target)
    const known = connections.get(key)
    if (known !== undefined) {
      known.request = request
      return known.client.join()
    }
    const socket = socketPathOf(target, request.stateDirectory)
    const env = () => clientVariables((connections.get(key)?.request ?? request).gatewayEnv)
    const client = shareClient(createSshConnection({ ...options, target, socket, env }))
    connections.set(key, { client, request })
    return client.join()
  }

  return {
    create(request) {
      return {
        client: share(request, targetOf(request)),
        cwd: request.settings.ssh_cwd || request.cwd || '~',
        variables: request.variables,
      }
    },

    async check(request, signal): Promise<EnvironmentCheck> {
      try {
        const target = targetOf(request)
        const client = share(request, target)
        await client.start(signal).finally(() => client.stop())
        return { ok: true, detail: nameOf(target) }
      } catch (error) {
        if (!isHermesError(error)) throw error
        return { ok: false, code: error.code, detail: error.detail, hint: error.hint }
      }
    },

    recover: ({ stateDirectory, gatewayEnv }) => removeAbandonedSockets(stateDirectory, clientVariables(gatewayEnv)),
  }
}

const targetOf = ({ settings, gatewayEnv }: Request): SshTarget =>
  sshTargetOf(
    {
      host: settings.ssh_host,
      user: settings.ssh_user,
      port: settings.ssh_port,
      key: settings.ssh_key,
      hostKeys: settings.ssh_host_keys,
      knownHosts: settings.ssh_known_hosts,
    },
    gatewayEnv['HOME'] ?? '',
  )

const clientNames = [
  'HOME',
  'KRB5CCNAME',
  'LANG',
  'LOGNAME',
  'PATH',
  'SSH_AUTH_SOCK',
  'TERM',
  'USER',
  'XDG_RUNTIME_DIR',
]

/** `SendEnv *` in the ssh configuration of the user must not send a secret. */
function clientVariables(env: Request['gatewayEnv']): Record<string, string> {
  const entries = clientNames.map((name) => [name, env[name]] as const)
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
