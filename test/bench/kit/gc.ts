/**
 * The size of the heap after a garbage collection.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects several times, because weakly held objects are released only after the turn that last used them. */
export async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('gc')
  for (let pass = 0; pass < 4; pass++) {
    await turn()
    if (typeof gc === 'function') gc()
  }
}

/** Bytes after a collection. */
export async function heapUsed(): Promise<number> {
  await collect()
  return process.memoryUsage().heapUsed
}
