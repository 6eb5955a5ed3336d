/**
 * Lines of work that nobody waits for: what has the same key is done one after the other, what has not, side by side.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createQueue, type Queue } from '../lib/queue.ts'
import { within } from '../lib/wait.ts'

export interface Lines {
  /** False when this line is full: the work is dropped. Work must not reject. */
  push(key: string, work: () => Promise<void>): boolean
  /** Resolves when this line has nothing to do. */
  idle(key: string): Promise<void> | undefined
  /** Resolves when nothing is left to do, after `withinMs`, or when the signal aborts; tells whether all was done. */
  settled(withinMs: number, signal?: AbortSignal): Promise<boolean>
}

/** @param maxWaiting Pieces of work that wait in one line. */
export function createLines(maxWaiting: number): Lines {
  const lines = new Map<string, Queue<() => Promise<void>>>()

  function open(key: string): Queue<() => Promise<void>> {
    const line = createQueue<() => Promise<void>>(maxWaiting, (work) => work())
    lines.set(key, line)
    return line
  }

  function forgetWhenIdle(key: string, line: Queue<() => Promise<void>>): void {
    void line.idle().then(() => {
      if (line.waiting() > 0) forgetWhenIdle(key, line)
      else lines.delete(key)
    })
  }

  async function allIdle(): Promise<void> {
    while (lines.size > 0) {
      await Promise.all([...lines.values()].map((line) => line.idle()))
      // Those that are idle are forgotten right after.
      await Promise.resolve()
    }
  }

  return {
    push(key, work) {
      // A line runs in the context of whoever opened it; each piece of work belongs to the one that pushed it.
      const own = AsyncLocalStorage.bind(work)
      const known = lines.get(key)
      if (known !== undefined) return known.push(own)
      const line = open(key)
      line.push(own)
      forgetWhenIdle(key, line)
      return true
    },
    idle: (key) => lines.get(key)?.idle(),
    async settled(withinMs, signal) {
      const { done } = await within(allIdle(), withinMs, signal)
      return done
    },
  }
}
