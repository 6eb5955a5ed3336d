/**
 * The names of the environments that come with the gateway.
 */

/** Commands run on the machine of the gateway itself. */
const machineKinds: readonly string[] = ['local', 'bwrap']

/** Bundled plugins, which need no entry in `plugins.enabled`: `terminal.backend` names them. */
export const bundledKinds: readonly string[] = ['docker', 'singularity', 'ssh']

/** The names of `terminal.backend` that need no other plugin. `none`: there are no commands. */
export const builtInBackends: readonly string[] = [...machineKinds, ...bundledKinds, 'none']

export function runsOnThisMachine(backend: string): boolean {
  return machineKinds.includes(backend)
}
