/**
 * A line in which things wait for one who hears them: handled one after the other, in the order they came, and bounded.
 */
export interface BoundedQueue<Item> {
  /** False when the line is full: the item is dropped. */
  push(item: Item): boolean
  waiting(): number
  /** Resolves when nothing waits and nothing is at work. */
  idle(): Promise<void>
  /** Forgets what waits; returns it. */
  clear(): readonly Item[]
}

/** `work` must not reject. It begins after the caller has gone on: whoever emits an event does not pay for it. */
export function createBoundedQueue<Item>(maxWaiting: number, work: (item: Item) => Promise<void>): BoundedQueue<Item> {
  let items: Item[] = []
  /** Those before it are done. */
  let next = 0
  let running = false
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  async function run(): Promise<void> {
    for (;;) {
      const item = items[next]
      if (item === undefined || next >= items.length) break
      next += 1
      // Cut off now and then instead of moving everything for each one.
      if (next >= 256) {
        items = items.slice(next)
        next = 0
      }
      await work(item)
    }
    items = []
    next = 0
    running = false
    idle.resolve()
  }

  return {
    push(item) {
      if (items.length - next >= maxWaiting) return false
      items.push(item)
      if (!running) {
        running = true
        idle = Promise.withResolvers()
        setImmediate(() => void run())
      }
      return true
    },
    waiting: () => items.length - next,
    idle: () => idle.promise,
    clear() {
      const left = items.slice(next)
      items = []
      next = 0
      return left
    },
  }
}
