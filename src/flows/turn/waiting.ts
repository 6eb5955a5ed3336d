/**
 * Lets a turn wait for something outside of this process, such as a person or the model's provider.
 */
import type { Engine } from '../../engine/engine.ts'
import { continueAttempt, pauseAttempt } from '../../inbox/attempts.ts'
import type { SessionKey } from '../../message/ids.ts'
import { findTurnActivity } from '../../sessions/turns.ts'
import type { Store } from '../../store/store.ts'

/**
 * Meanwhile another turn may run, and a crash does not count as a failed attempt of the turn. Resolves or rejects as `wait`,
 * or rejects `store/...`.
 */
export type TurnWait = <T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal) => Promise<T>

/** The waits of a session at the same time. */
interface SessionWaits {
  count: number
  /** The event whose attempt one of them has paused. The last one continues it. */
  paused: number | undefined
}

export interface TurnWaits {
  readonly waitInTurn: TurnWait
  /** Whether a wait of this session has paused the attempt of its turn. */
  isPaused(key: SessionKey): boolean
}

export function createTurnWaits(store: Store, engine: Pick<Engine, 'waitOutside'>): TurnWaits {
  const waits = new Map<SessionKey, SessionWaits>()

  /** Pauses the attempt, unless the turn also works. */
  async function pause(key: SessionKey): Promise<void> {
    const waiting = waits.get(key) ?? { count: 0, paused: undefined }
    waits.set(key, waiting)
    waiting.count += 1
    await store.run(function* () {
      const activity = yield* findTurnActivity(key)
      if (activity === undefined || activity.runsTool) return
      yield* pauseAttempt(activity.seq)
      waiting.paused = activity.seq
    })
  }

  async function resume(key: SessionKey): Promise<void> {
    const waiting = waits.get(key)
    if (waiting === undefined) return
    waiting.count -= 1
    if (waiting.count > 0) return
    waits.delete(key)
    const { paused } = waiting
    if (paused !== undefined) await store.run(() => continueAttempt(paused))
  }

  return {
    waitInTurn(key, wait, signal) {
      const waitWithoutAttempt = async () => {
        try {
          await pause(key)
          return await wait()
        } finally {
          await resume(key)
        }
      }
      return engine.waitOutside(key, waitWithoutAttempt, signal)
    },
    isPaused: (key) => waits.get(key)?.paused !== undefined,
  }
}
