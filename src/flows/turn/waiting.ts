/**
 * Lets a turn wait for something outside of this process, such as a person or the model's provider.
 */
import type { Engine } from '../../engine/engine.ts'
import { continueAttempt, pauseAttempt } from '../../inbox/attempts.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { Store } from '../../store/store.ts'

export interface TurnWaitDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'waitOutside'>
  isDraining(): boolean
}

/**
 * Meanwhile another turn may run, and a crash does not count as a failed attempt of the turn. Resolves or rejects as `wait`,
 * or rejects `store/…`.
 */
export type TurnWait = <T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal) => Promise<T>

export function createTurnWait({ store, engine, isDraining }: TurnWaitDeps): TurnWait {
  return (key, wait, signal) => {
    const waitWithoutAttempt = async () => {
      await store.run(() => pauseAttempt(key))
      const result = await wait()
      // An aborted turn ends, and what a stop of the gateway interrupts is not counted.
      if (!signal.aborted && !isDraining()) await store.run(() => continueAttempt(key))
      return result
    }
    return engine.waitOutside(key, waitWithoutAttempt, signal)
  }
}
