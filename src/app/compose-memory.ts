/**
 * Composes the memory of the agent, and reports what the scan of a file for the prompt found.
 */
import type { OwnMemory } from '../flows/prompt/own-memory.ts'
import { createRedactor } from '../lib/redact.ts'
import type { PluginMemory } from '../plugins/plugin-memory.ts'
import type { AppContext } from './context.ts'

/** Loaded with the first new session. */
export function composeOwnMemory(
  context: AppContext,
  memory: Pick<PluginMemory, 'memoryWritten'>,
): () => Promise<OwnMemory> {
  const { options, settings, secrets, promptFileProblems, accountDirectory, clock, log, failpoint } = context
  const redactAll = createRedactor({ secrets: secrets.distinctive })
  let loaded: Promise<OwnMemory> | undefined
  const load = async () => {
    const { createOwnMemory } = await import('../flows/prompt/own-memory.ts')
    return createOwnMemory({
      directory: options.home.memories,
      settings: () => settings().memory,
      redact: createRedactor({ secrets: secrets.distinctive, knownOnly: true }),
      holdsSecret: (text) => redactAll(text) !== text,
      onScanned: (path, ids) => reportScan(context, path, ids),
      onRead(path, problem) {
        if (problem === undefined) promptFileProblems.delete(path)
        else promptFileProblems.set(path, problem)
      },
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
  return () => {
    loaded ??= load()
    return loaded
  }
}

const maxSuspiciousFiles = 20

export function reportScan({ suspiciousFiles }: AppContext, path: string, ids: readonly string[]): void {
  if (ids.length === 0) suspiciousFiles.delete(path)
  else if (suspiciousFiles.size < maxSuspiciousFiles) suspiciousFiles.set(path, ids)
}
