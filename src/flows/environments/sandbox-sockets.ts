/**
 * What commands in the sandbox reach of the gateway: the proxy for hosts, and the `hermes` of their turn. Opened when the first
 * command needs it.
 */
import type { AgentConfig } from '../../agent/config.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import { lazy } from '../../lib/cache.ts'
import type { Logger } from '../../lib/log.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { CallingTurns, TurnAccess } from './turn-access.ts'

/** A plugin outside of turns has no event. */
type SandboxedTurn = Pick<Turn, 'authority'> & Partial<Pick<Turn, 'seq' | 'sessionKey' | 'event'>>

/** @param turns without them, the `hermes` of commands refuses everything */
export function createSandboxSockets(settings: () => Pick<AgentConfig, 'terminal'>, log: Logger, turns?: CallingTurns) {
  let closeProxy: Promise<() => void> | undefined
  const openTurnAccess = lazy(async () => (await import('./turn-access.ts')).createTurnAccess)
  let turnAccess: TurnAccess | undefined
  return {
    /** Rejects with a system error. */
    async openProxy(directory: string): Promise<void> {
      closeProxy ??= import('./sandbox-proxy.ts').then(({ openSandboxProxy }) =>
        openSandboxProxy(directory, settings, log),
      )
      try {
        await closeProxy
      } catch (error) {
        closeProxy = undefined
        throw error
      }
    },
    /** What the commands of a turn need to call `hermes`. Without a sandbox they find the complete one. */
    async variablesOf({ seq, sessionKey, event, authority }: SandboxedTurn, sandbox: Sandbox | undefined) {
      const directory = sandbox?.kind === 'none' ? undefined : sandbox?.binDirectory
      if (turns === undefined || directory === undefined) return {}
      if (seq === undefined || sessionKey === undefined || event === undefined) return {}
      const createTurnAccess = await openTurnAccess()
      turnAccess ??= createTurnAccess(directory, turns, log)
      return turnAccess.variablesOf({ seq, sessionKey, source: event.source, authority }, sandbox?.kind !== 'landlock')
    },
    async close() {
      await turnAccess?.close()
      // The log says why it could not listen.
      const close = await closeProxy?.catch(() => undefined)
      close?.()
    },
  }
}
