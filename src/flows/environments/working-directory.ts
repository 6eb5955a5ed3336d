/**
 * The machine on which programs of the agent run, and the directory in which its commands begin.
 */
import { resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import type { Environment } from '../../config/environment.ts'
import type { Runtime } from '../../store/runtime.ts'

/** This machine, as the configuration lets programs of the agent use it. */
export interface Machine extends Pick<Runtime, 'home' | 'log'> {
  readonly settings: () => Pick<AgentConfig, 'terminal'>
  readonly environment: () => Environment
}

/** In the sandbox the home directory of the user is not writable, and that of the gateway is not even visible. */
export function workingDirectory({ home, settings, environment }: Omit<Machine, 'log'>): string {
  const userHome = environment().values['HOME'] || home.root
  const { cwd, sandbox, backend } = settings().terminal
  const isSandboxed = backend === 'bwrap' || (sandbox !== 'off' && backend === 'local')
  const configured = resolve(userHome, cwd.replace(/^~(?=$|\/)\/?/, ''))
  return isSandboxed && (cwd === '' || configured === home.root) ? home.workspace : configured
}
