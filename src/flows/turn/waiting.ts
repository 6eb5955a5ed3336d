/**
 * Lets a turn wait for something outside of this process, such as a person or the model's provider.
 */
import type { Engine } from '../../engine/engine.ts'
import { continueAttempt, pauseAttempt } from '../../inbox/attempts.ts'
import type { SessionKey } from '../../message/ids.ts'
import { findTurnActivity } from '../../sessions/turns.ts'
import type { Store } from '../../store/store.ts'

export interface TurnWaitDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'waitOutside'>
}

/**
 * Meanwhile another turn may run, and a crash does not count as a failed attempt of the turn. Resolves or rejects as `wait`,
 * or rejects `store/…`.
 */
export type TurnWait = <T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal) => Promise<T>

export function createTurnWait({ store, engine }: TurnWaitDeps): TurnWait {
  /** Concurrent waits of each session. */
  const waits = new Map<SessionKey, number>()

  /** Returns the event whose attempt was paused; undefined while the turn also works. */
  async function pause(key: SessionKey): Promise<number | undefined> {
    waits.set(key, (waits.get(key) ?? 0) + 1)
    return await store.run(function* () {
      const activity = yield* findTurnActivity(key)
      if (activity === undefined || activity.runsTool) return undefined
      yield* pauseAttempt(activity.seq)
      return activity.seq
    })
  }

  async function resume(key: SessionKey, seq: number | undefined): Promise<void> {
    const others = (waits.get(key) ?? 1) - 1
    if (others > 0) waits.set(key, others)
    else waits.delete(key)
    if (others === 0 && seq !== undefined) await store.run(() => continueAttempt(seq))
  }

  return (key, wait, signal) => {
    const waitWithoutAttempt = async () => {
      let seq: number | undefined
      try {
        seq = await pause(key)
        return await wait()
      } finally {
        await resume(key, seq)
      }
    }
    return engine.waitOutside(key, waitWithoutAttempt, signal)
  }
}
