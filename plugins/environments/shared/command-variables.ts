/**
 * What an environment of containers takes from the variables of the gateway.
 */
import { createHash } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type EnvironmentRequest, systemCode } from '#sdk'
import { clientNames } from './client-program.ts'

type VariableRequest = Pick<
  EnvironmentRequest<{ readonly docker_forward_env: readonly string[] }>,
  'settings' | 'variables' | 'clientVariables'
>

/** The variables of `terminal.env_passthrough` and of `docker_forward_env`; no credential of the gateway itself. */
export function commandVariables({
  settings: { docker_forward_env: names },
  variables,
  clientVariables,
}: VariableRequest): Record<string, string> {
  const permitted = clientVariables([...clientNames, ...names])
  const forwarded = names.flatMap((name) => {
    const value = permitted[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...variables, ...Object.fromEntries(forwarded) }
}

/** The container of all conversations. */
export const sharedKey = 'shared'

const conversationPrefix = 'c-'

/** A session id may contain what a path or a label may not. */
export function conversationKey(sessionId: string): string {
  return `${conversationPrefix}${createHash('sha256').update(sessionId).digest('hex').slice(0, 16)}`
}

/** Removes what the containers of single conversations have left. Only while none of them runs. Rejects with a system error. */
export async function removeConversationFolders(directory: string): Promise<void> {
  try {
    for (const name of await readdir(directory))
      if (name.startsWith(conversationPrefix)) await rm(join(directory, name), { recursive: true, force: true })
  } catch (error) {
    // There has been none.
    if (systemCode(error) !== 'ENOENT') throw error
  }
}
