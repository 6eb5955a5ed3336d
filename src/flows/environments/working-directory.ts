/**
 * The directory in which the commands of the agent begin.
 */
import { resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import type { Environment } from '../../config/environment.ts'
import type { HomeLayout } from '../../lib/home.ts'

/** In the sandbox the home directory of the user is not writable, and that of the gateway is not even visible. */
export function workingDirectory({
  home,
  settings,
  environment,
}: {
  readonly home: Pick<HomeLayout, 'root' | 'workspace'>
  environment(): Environment
  settings(): Pick<AgentConfig, 'terminal'>
}): string {
  const userHome = environment().values['HOME'] || home.root
  const { cwd, sandbox, backend } = settings().terminal
  const isSandboxed = backend === 'bwrap' || (sandbox !== 'off' && backend === 'local')
  const configured = resolve(userHome, cwd.replace(/^~(?=$|\/)\/?/, ''))
  return isSandboxed && (cwd === '' || configured === home.root) ? home.workspace : configured
}
