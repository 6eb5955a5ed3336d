/**
 * Queues that may contain what ended the gateway. They run one at a time, so that the next crash shows the cause.
 */

/** A suspect that has neither ended nor made progress for so long does not hold up the other suspects any more. */
const maxHoldMs = 60_000

export interface Suspects {
  add(id: string): void
  /** Whether the queue must wait for another suspect. */
  mustWait(id: string): boolean
  /** The queue starts. */
  started(id: string): void
  /** The queue has ended, waits or has made progress: the next suspect may start. */
  clear(id: string): void
}

/** @param onCleared called when the next suspect may start */
export function createSuspects(onCleared: () => void): Suspects {
  const pending = new Set<string>()
  let running: { readonly id: string; readonly timeout: NodeJS.Timeout } | undefined

  function clear(id: string): void {
    if (running?.id !== id) return
    clearTimeout(running.timeout)
    running = undefined
    onCleared()
  }

  return {
    add: (id) => void pending.add(id),
    mustWait: (id) => running !== undefined && pending.has(id),
    started(id) {
      if (pending.delete(id)) running = { id, timeout: setTimeout(clear, maxHoldMs, id) }
    },
    clear,
  }
}
