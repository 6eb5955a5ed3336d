/**
 * Lines of work that nobody waits for: what has the same key is done one after the other, what has not, side by side.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type BoundedQueue, createBoundedQueue } from '../lib/bounded-queue.ts'
import { withTimeout } from '../lib/timers.ts'

export interface KeyedQueue {
  /** False when this line is full: the work is dropped. Work must not reject. */
  push(key: string, work: () => Promise<void>): boolean
  /** Resolves when this line has nothing to do. */
  idle(key: string): Promise<void> | undefined
  /** Resolves when nothing is left to do, after `withinMs`, or when the signal aborts; tells whether all was done. */
  drain(withinMs: number, signal?: AbortSignal): Promise<boolean>
}

/** @param maxPending Pieces of work that wait in one line. */
export function createKeyedQueue(maxPending: number): KeyedQueue {
  const queues = new Map<string, BoundedQueue<() => Promise<void>>>()

  function openQueue(key: string): BoundedQueue<() => Promise<void>> {
    const line = createBoundedQueue<() => Promise<void>>(maxPending, (work) => work())
    queues.set(key, line)
    return line
  }

  function deleteWhenIdle(key: string, line: BoundedQueue<() => Promise<void>>): void {
    void line.idle().then(() => {
      if (line.waiting() > 0) deleteWhenIdle(key, line)
      else queues.delete(key)
    })
  }

  async function allIdle(): Promise<void> {
    while (queues.size > 0) {
      await Promise.all([...queues.values()].map((line) => line.idle()))
      // Those that are idle are forgotten right after.
      await Promise.resolve()
    }
  }

  return {
    push(key, work) {
      // A line runs in the context of whoever opened it; each piece of work belongs to the one that pushed it.
      const own = AsyncLocalStorage.bind(work)
      const known = queues.get(key)
      if (known !== undefined) return known.push(own)
      const line = openQueue(key)
      line.push(own)
      deleteWhenIdle(key, line)
      return true
    },
    idle: (key) => queues.get(key)?.idle(),
    async drain(withinMs, signal) {
      const { done } = await withTimeout(allIdle(), withinMs, signal)
      return done
    },
  }
}
