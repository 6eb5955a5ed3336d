/**
 * The kinds of environments by name: those of the gateway, loaded when they are configured, and those of plugins.
 */
import type { TerminalConfig } from './config.ts'
import type { EnvironmentKind } from './kind.ts'

/** A kind for the settings of this gateway. Those of plugins read them as JSON. */
export type ConfiguredKind = EnvironmentKind<TerminalConfig>

/** Commands run on the machine of the gateway itself. */
export const machineKinds = ['local', 'bwrap'] as const

const loaders: Readonly<Record<string, () => Promise<ConfiguredKind>>> = {
  docker: async () => (await import('./containers/docker.ts')).createDockerKind(),
  singularity: async () => (await import('./containers/singularity.ts')).createSingularityKind(),
  ssh: async () => (await import('./ssh/kind.ts')).createSshKind(),
}

/** The names of `terminal.backend` that need no plugin. `none`: there are no commands. */
export const builtInBackends: readonly string[] = [...machineKinds, ...Object.keys(loaders), 'none']

export function runsOnThisMachine(backend: string): boolean {
  return machineKinds.some((kind) => kind === backend)
}

/** Undefined for the kinds of this machine, and for a name that is not registered. */
export async function loadEnvironmentKind(
  name: string,
  ofPlugins: (name: string) => EnvironmentKind | undefined,
): Promise<ConfiguredKind | undefined> {
  const load = Object.hasOwn(loaders, name) ? loaders[name] : undefined
  return load === undefined ? ofPlugins(name) : await load()
}
