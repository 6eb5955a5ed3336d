/**
 * Gives unused memory of the daemon back to the system. After its start and after a load V8 keeps the free pages of its heap,
 * because it collects only while a program allocates, and a gateway mostly waits for messages.
 */
import { getHeapStatistics } from 'node:v8'

export interface MemoryReleaseDeps {
  /** Collects the whole heap and returns its free pages. Blocks the event loop for about 0.1 s. */
  readonly collect: () => void
  /** The size of the heap with its free pages, in bytes. */
  readonly heapBytes: () => number
  /** The share of the time, 0 to 1, in which the event loop was busy since the last call. */
  readonly utilization: () => number
  /** Calls the function every so many milliseconds until the returned function is called. */
  readonly repeat: (callback: () => void, ms: number) => () => void
}

const checkMs = 5_000
/** A smaller growth is not worth the pause. */
const minGrowthBytes = 12 * 2 ** 20
/** At most one pause a minute. */
const minChecksBetween = 60_000 / checkMs
/** Above this share messages arrive so fast that the memory would soon be needed again, and that a pause would be felt. */
const maxUtilization = 0.2

/** Checks the heap every five seconds, and collects it at the first quiet check. Returns a function that ends this. */
export function startMemoryRelease({ collect, heapBytes, utilization, repeat }: MemoryReleaseDeps): () => void {
  let releasedTo = 0
  let checksSince = minChecksBetween
  return repeat(() => {
    checksSince += 1
    const isQuiet = utilization() <= maxUtilization
    if (!isQuiet || checksSince < minChecksBetween || heapBytes() - releasedTo < minGrowthBytes) return
    collect()
    // The first load may end within a minute after the start.
    if (releasedTo > 0) checksSince = 0
    releasedTo = heapBytes()
  }, checkMs)
}

/** The dependencies of this process; undefined without `--expose-gc`. */
export function processMemory(): MemoryReleaseDeps | undefined {
  const { gc } = globalThis
  if (gc === undefined) return undefined
  let last = performance.eventLoopUtilization()
  return {
    // An ordinary collection keeps the free pages for the next allocations.
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    heapBytes: () => getHeapStatistics().total_heap_size,
    utilization() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    repeat(callback, ms) {
      const timer = setInterval(callback, ms).unref()
      return () => clearInterval(timer)
    },
  }
}
