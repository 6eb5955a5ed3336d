/**
 * Runs background tasks: tasks with the same key run one after the other, tasks with different keys run concurrently.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type BoundedQueue, createBoundedQueue } from '../lib/bounded-queue.ts'
import { withTimeout } from '../lib/timers.ts'

export interface KeyedQueue {
  /** Returns false and drops the task when the queue of this key is full. Tasks must not reject. */
  push(key: string, work: () => Promise<void>): boolean
  /** Resolves when all tasks of this key at this moment have begun; undefined if none waits. */
  begun(key: string): Promise<void> | undefined
  /** Resolves when the queue of this key is empty; undefined without a queue. */
  idle(key: string): Promise<void> | undefined
  /** Resolves when all tasks are done (true), or after `withinMs` or an abort of the signal (false). */
  drain(withinMs: number, signal?: AbortSignal): Promise<boolean>
}

/** @param maxPending number of tasks that may wait per key */
export function createKeyedQueue(maxPending: number): KeyedQueue {
  const queues = new Map<string, BoundedQueue<() => Promise<void>>>()

  function openQueue(key: string): BoundedQueue<() => Promise<void>> {
    const queue = createBoundedQueue<() => Promise<void>>(maxPending, (work) => work())
    queues.set(key, queue)
    return queue
  }

  function deleteWhenIdle(key: string, queue: BoundedQueue<() => Promise<void>>): void {
    void queue.idle().then(() => {
      if (queue.waiting() > 0) deleteWhenIdle(key, queue)
      else queues.delete(key)
    })
  }

  async function allIdle(): Promise<void> {
    while (queues.size > 0) {
      await Promise.all([...queues.values()].map((queue) => queue.idle()))
      // `deleteWhenIdle` runs in the next microtask.
      await Promise.resolve()
    }
  }

  return {
    push(key, work) {
      // Each task runs in the async context of its caller, not in that of the caller who created the queue.
      const task = AsyncLocalStorage.bind(work)
      const known = queues.get(key)
      if (known !== undefined) return known.push(task)
      const queue = openQueue(key)
      queue.push(task)
      deleteWhenIdle(key, queue)
      return true
    },
    begun: (key) => queues.get(key)?.begun(),
    idle: (key) => queues.get(key)?.idle(),
    async drain(withinMs, signal) {
      const { done } = await withTimeout(allIdle(), withinMs, signal)
      return done
    },
  }
}
