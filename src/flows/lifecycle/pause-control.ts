/**
 * Pauses the agent, and ends the pause. The code is loaded with the first pause.
 */
import { lazy } from '../../lib/cache.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { PausedTurns } from './pause.ts'

export interface PauseControl {
  pause(reason: string): Promise<void>
  /** False if there was no pause. */
  resume(): Promise<boolean>
  /** Tells the people of a conversation that their message waits. */
  announce(key: SessionKey): Promise<void>
}

export function createPauseControl(gateway: Runtime, turns: PausedTurns): PauseControl {
  const load = lazy(() => import('./pause.ts'))
  return {
    pause: async (reason) => (await load()).pauseAgent(gateway, turns.runningTurns, reason),
    resume: async () => (await load()).resumeAgent(gateway, turns),
    announce: async (key) => (await load()).announcePause(gateway.store, turns, key),
  }
}
