/**
 * Where commands of a container start.
 */
import { existsSync } from 'node:fs'
import type { EnvironmentRequest } from '#sdk'

export const workspacePath = '/workspace'

const foldersOfContainers = [workspacePath, '/root', '/tmp']

/** A folder of this machine means nothing in the container, as in Hermes. */
export function containerDirectory({ cwd, log }: Pick<EnvironmentRequest, 'cwd' | 'log'>): string {
  if (cwd === '' || cwd === '~') return workspacePath
  const isOfContainer = foldersOfContainers.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`))
  if (isOfContainer || (cwd.startsWith('/') && !existsSync(cwd))) return cwd
  log.info({ event: 'container.cwd_ignored', cwd }, 'terminal.cwd is a folder of this machine, not of the container')
  return workspacePath
}
