/**
 * Composes the memory of the agent.
 */

import type { OwnMemory } from '../flows/prompt/own-memory.ts'
import { lazy } from '../lib/lazy.ts'
import { createRedactor } from '../lib/redact.ts'
import type { PluginMemory } from '../plugins/plugin-memory.ts'
import type { AppContext } from './context.ts'

/** Loaded with the first new session. */
export function composeOwnMemory(
  context: AppContext,
  memory: Pick<PluginMemory, 'memoryWritten'>,
): () => Promise<OwnMemory> {
  const { options, settings, secrets, problems, accountDirectory, clock, log, failpoint } = context
  const redactAll = createRedactor({ secrets: secrets.distinctive })
  const load = async () => {
    const { createOwnMemory } = await import('../flows/prompt/own-memory.ts')
    return createOwnMemory({
      directory: options.home.memories,
      settings: () => settings().memory,
      redact: secrets.redactKnown,
      holdsSecret: (text) => redactAll(text) !== text,
      onScanned: problems.fileScanned,
      onRead: problems.fileRead,
      isShared: accountDirectory.isShared,
      onWritten(change, { sessionId, authority: { role }, event }) {
        if (event === undefined || event.task !== undefined) return
        const { platform, chatType, userId = '' } = event.source
        const sessionKey = accountDirectory.sessionKey(event.source)
        memory.memoryWritten(change, { sessionId, sessionKey, platform, chatType, userId, role })
      },
      clock,
      log,
      failpoint,
    })
  }
  return lazy(load)
}
