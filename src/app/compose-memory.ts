/**
 * Composes the memory of the agent.
 */

import type { OwnMemory } from '../flows/prompt/own-memory.ts'
import { lazy } from '../lib/cache.ts'
import { createRedactor } from '../lib/redact.ts'
import type { PluginMemory } from '../plugins/plugin-memory.ts'
import type { AppContext } from './context.ts'

/** Loaded with the first new session. */
export function composeOwnMemory(
  context: AppContext,
  memory: Pick<PluginMemory, 'memoryWritten'>,
): () => Promise<OwnMemory> {
  const { options, settings, secrets, problems, accountDirectory } = context
  const redactAll = createRedactor({ secrets: secrets.distinctive })
  const load = async () => {
    const { createOwnMemory } = await import('../flows/prompt/own-memory.ts')
    const { clock, log, failpoint } = context
    const files = {
      directory: options.home.memories,
      settings,
      redact: secrets.redactKnown,
      holdsSecret: (text: string) => redactAll(text) !== text,
      onScanned: problems.fileScanned,
      onRead: problems.fileRead,
    }
    return createOwnMemory(
      { ...files, clock, log, failpoint },
      accountDirectory.isShared,
      (change, { sessionId, authority: { role }, event }) => {
        if (event === undefined || event.task !== undefined) return
        const { platform, chatType, userId = '' } = event.source
        const sessionKey = accountDirectory.sessionKey(event.source)
        memory.memoryWritten(change, { sessionId, sessionKey, platform, chatType, userId, role })
      },
    )
  }
  return lazy(load)
}
