/**
 * `terminal.backend: ssh`: commands and files are those of another machine, which the system's `ssh` reaches. All
 * conversations of a process share one connection.
 */
import { isHermesError } from '../../../lib/errors.ts'
import { createPlaceGuard } from '../../command-policy/file-guard.ts'
import type { EnvironmentCheck, EnvironmentKind, EnvironmentRequest } from '../kind.ts'
import type { RemoteClient } from '../remote-client.ts'
import { createRemoteEnvironment } from '../remote-environment.ts'
import { type SharedClient, shareClient } from '../shared-client.ts'
import { createSshConnection, type SshConnectionOptions } from './connection.ts'
import { removeAbandonedSockets, socketPathOf } from './control-socket.ts'
import { type HostKeyPolicy, nameOf, type SshTarget, sshTargetOf } from './target.ts'

/** The keys of `terminal` that this kind reads. */
export interface SshSettings {
  readonly ssh_host: string
  readonly ssh_user: string
  readonly ssh_port?: number | undefined
  readonly ssh_key: string
  readonly ssh_host_keys: HostKeyPolicy
  readonly ssh_known_hosts: string
  readonly ssh_cwd: string
}

type Request = EnvironmentRequest<SshSettings>
type Place = Omit<Request, 'sessionId'>

export type SshKindOptions = Pick<SshConnectionOptions, 'program' | 'aliveSeconds' | 'connectSeconds' | 'idleSeconds'>

export function createSshKind(options: SshKindOptions = {}): EnvironmentKind<SshSettings> {
  /** One for each target. The variables are those of the place that was opened last: an agent of ssh may be another one. */
  const connections = new Map<string, { readonly client: SharedClient; place: Place }>()

  function share(place: Place, target: SshTarget): RemoteClient {
    const key = JSON.stringify(target)
    const known = connections.get(key)
    if (known !== undefined) {
      known.place = place
      return known.client.join()
    }
    const socket = socketPathOf(target, place.stateDirectory)
    const env = () => clientVariables((connections.get(key)?.place ?? place).gatewayEnv)
    const client = shareClient(createSshConnection({ ...options, target, socket, env }))
    connections.set(key, { client, place })
    return client.join()
  }

  return {
    create(request) {
      const target = targetOf(request)
      return createRemoteEnvironment(share(request, target), {
        cwd: request.settings.ssh_cwd || request.cwd || '~',
        variables: request.variables,
        denial: createPlaceGuard(request.home),
      })
    },

    async check(place, signal): Promise<EnvironmentCheck> {
      try {
        const target = targetOf(place)
        const client = share(place, target)
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

const targetOf = ({ settings, gatewayEnv }: Place): SshTarget =>
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
function clientVariables(env: Place['gatewayEnv']): Record<string, string> {
  const entries = clientNames.map((name) => [name, env[name]] as const)
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
