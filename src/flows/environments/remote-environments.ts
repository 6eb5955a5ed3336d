/**
 * Creates the environments of `terminal.backend` where that is not this machine. Imported when such an environment is configured.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import { completeEnvironment } from '../../agent/environments/complete-environment.ts'
import type { Environment } from '../../agent/environments/environment.ts'
import type { EnvironmentCheck, EnvironmentKind, EnvironmentRequest } from '../../agent/environments/kind.ts'
import { bundledKinds } from '../../agent/environments/kinds.ts'
import {
  filterEnvironment,
  isGatewayCredential,
  withNamedVariables,
} from '../../agent/environments/passed-variables.ts'
import type { Environment as ConfigEnvironment } from '../../config/environment.ts'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Logger } from '../../lib/log.ts'
import { locateProfile } from '../../lib/profiles.ts'
import { loadBundledEnvironment } from '../../plugins/bundled-environments.ts'

export interface RemoteEnvironmentsDeps {
  readonly home: Pick<HomeLayout, 'root' | 'cache' | 'media'>
  readonly settings: () => Pick<AgentConfig, 'terminal'>
  /** The variables of the process and of .env. */
  readonly environment: () => Pick<ConfigEnvironment, 'process' | 'file'>
  /** Names of variables that enter no environment. */
  readonly withheld: readonly string[]
  /** The kinds that plugins have registered. */
  pluginEnvironments?(name: string): EnvironmentKind | undefined
  /** The bundled kinds that were loaded: each knows what it has started, so there is one of each for the whole gateway. */
  readonly environmentKinds: EnvironmentKinds
  /** Tells the people of a session what its command waits for. Absent: no person waits. */
  announce?(sessionId: string, text: string): void
  readonly log: Logger
}

export type EnvironmentKinds = Map<string, Promise<EnvironmentKind>>

export interface RemoteEnvironments {
  /** `workspace`: the folder in which it begins, in place of `terminal.cwd`. */
  create(sessionId: string, workspace?: string): Environment
  /** Whether the environment can be reached. Never rejects. */
  check(signal: AbortSignal): Promise<EnvironmentCheck>
  /** Finds or removes what an earlier process left behind. Rejects when that fails. */
  recover(signal: AbortSignal): Promise<void>
}

/** Undefined if the configured kind is not registered. */
export async function openRemoteEnvironments(deps: RemoteEnvironmentsDeps): Promise<RemoteEnvironments | undefined> {
  const name = deps.settings().terminal.backend
  const kind = await findKind(name, deps)
  return kind && environmentsOf(kind, name, deps)
}

/** An engine that has just been started may be slow. */
const recoverTimeoutMs = 120_000

/** Finds or removes what an earlier process has left in the configured environment, and in containers used before. Never rejects. */
export async function recoverEnvironments(deps: RemoteEnvironmentsDeps): Promise<void> {
  const { backend } = deps.settings().terminal
  // A kind of containers has a folder of its name.
  const earlier = bundledKinds.filter((name) => existsSync(join(deps.home.root, 'sandboxes', name)))
  for (const name of new Set([backend, ...earlier])) await recoverEnvironment(name, deps)
}

async function recoverEnvironment(backend: string, deps: RemoteEnvironmentsDeps): Promise<void> {
  try {
    const kind = await findKind(backend, deps)
    if (kind !== undefined) await environmentsOf(kind, backend, deps).recover(AbortSignal.timeout(recoverTimeoutMs))
  } catch (error) {
    deps.log.warn(
      { event: 'environment.not_recovered', backend, err: error },
      'what an earlier run has left in the environment of commands was not looked for',
    )
  }
}

/** A kind of another plugin is asked for each time, because the plugin may have been loaded again. */
async function findKind(
  name: string,
  { environmentKinds, pluginEnvironments }: RemoteEnvironmentsDeps,
): Promise<EnvironmentKind | undefined> {
  const known = environmentKinds.get(name)
  if (known !== undefined) return await known
  if (!bundledKinds.includes(name)) return pluginEnvironments?.(name)
  const loading = loadBundledEnvironment(name)
  environmentKinds.set(name, loading)
  loading.catch(() => environmentKinds.delete(name))
  return await loading
}

function environmentsOf(kind: EnvironmentKind, name: string, deps: RemoteEnvironmentsDeps): RemoteEnvironments {
  const request = () => requestOf(name, deps)
  return {
    create(sessionId, workspace) {
      const announce = (text: string) => deps.announce?.(sessionId, text)
      const made = kind.create({ ...request(), ...(workspace && { cwd: workspace }), sessionId, announce })
      return completeEnvironment(made, deps.home.root)
    },
    async check(signal) {
      try {
        return (await kind.check?.(request(), signal)) ?? { ok: true, detail: `commands run in ${name}` }
      } catch (error) {
        return failedCheck(error)
      }
    },
    recover: async (signal) => kind.recover?.(request(), signal),
  }
}

function requestOf(
  name: string,
  { home, settings, environment, withheld, log }: RemoteEnvironmentsDeps,
): Omit<EnvironmentRequest, 'sessionId'> {
  const { terminal } = settings()
  const named = [...terminal.env_passthrough, ...terminal.docker_forward_env]
  const gatewayEnv = withNamedVariables(environment(), named)
  const variables: Record<string, string> = {}
  for (const variable of terminal.env_passthrough) {
    const value = gatewayEnv[variable]
    if (value !== undefined && !withheld.includes(variable) && !isGatewayCredential(variable))
      variables[variable] = value
  }
  return {
    cwd: terminal.cwd,
    settings: terminal,
    gatewayEnv,
    clientVariables: (names) => filterEnvironment({ env: gatewayEnv, passthrough: names, blocked: withheld }),
    variables,
    withheld,
    home: home.root,
    profile: locateProfile(home.root).profile,
    stateDirectory: join(home.cache, 'environments', name),
    attachmentsDirectory: home.media,
    log,
  }
}

function failedCheck(error: unknown): EnvironmentCheck {
  if (isHermesError(error)) return { ok: false, code: error.code, detail: error.detail, hint: error.hint }
  return {
    ok: false,
    code: 'environment/unreachable',
    detail: messageOf(error),
    hint: 'Look at the log of the gateway.',
  }
}
