/**
 * A bounded queue that processes its items one after the other in order.
 */
export interface BoundedQueue<Item> {
  /** Returns false if the queue is full. The item is then dropped. */
  push(item: Item): boolean
  waiting(): number
  /** Resolves when the processing of all items of this moment has begun; undefined if no item waits. */
  begun(): Promise<void> | undefined
  /** Resolves when the queue is empty and no item is being processed. */
  idle(): Promise<void>
  /** Removes and returns the queued items. */
  clear(): readonly Item[]
}

/** `work` must not reject. It starts in a later event loop turn, so that the caller of `push` does not wait for it. */
export function createBoundedQueue<Item>(maxWaiting: number, work: (item: Item) => Promise<void>): BoundedQueue<Item> {
  let items: Item[] = []
  /** Index of the next item. */
  let next = 0
  let running = false
  let idle = Promise.withResolvers<void>()
  idle.resolve()
  let beginning: { readonly last: Item; readonly begun: PromiseWithResolvers<void> }[] = []

  async function run(): Promise<void> {
    for (;;) {
      const item = items[next]
      if (item === undefined || next >= items.length) break
      next += 1
      // Removing processed items in batches avoids moving the array for each item.
      if (next >= 256) {
        items = items.slice(next)
        next = 0
      }
      const processing = work(item)
      if (beginning.length > 0) reportBegun(item)
      await processing
    }
    items = []
    next = 0
    running = false
    idle.resolve()
  }

  function reportBegun(item: Item): void {
    for (const { begun } of beginning.filter(({ last }) => last === item)) begun.resolve()
    beginning = beginning.filter(({ last }) => last !== item)
  }

  return {
    begun() {
      const last = items.at(-1)
      if (last === undefined || items.length === next) return undefined
      const begun = Promise.withResolvers<void>()
      beginning.push({ last, begun })
      return begun.promise
    },
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
      for (const { begun } of beginning) begun.resolve()
      beginning = []
      return left
    },
  }
}
