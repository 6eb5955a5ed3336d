/**
 * What `hermes setup` says about the sandbox of commands.
 */
import { findProgram } from '../../lib/find-program.ts'

export interface SandboxFacts {
  readonly terminal: { readonly backend: string; readonly sandbox: string }
  /** The PATH of the gateway. */
  readonly searchPath: string
  readonly platform: NodeJS.Platform
}

/** A sentence or two; '' where bubblewrap is no choice, or was chosen. */
export function sandboxProposal({ terminal: { backend, sandbox }, searchPath, platform }: SandboxFacts): string {
  if (platform !== 'linux' || backend !== 'local' || sandbox !== 'auto') return ''
  return findProgram('bwrap', searchPath) === undefined
    ? 'Commands of the agent run in a sandbox where bubblewrap is installed: `apt-get install bubblewrap`.'
    : 'Bubblewrap is installed, so commands of the agent run in its sandbox. `terminal.backend: bwrap` in config.yaml refuses to run them without it.'
}
