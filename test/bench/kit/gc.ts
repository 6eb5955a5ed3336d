/**
 * The heap without what nobody holds any more.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects until nothing more goes: what is held weakly goes only after the turn in which it was looked at. */
export async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('gc')
  for (let pass = 0; pass < 4; pass++) {
    await turn()
    if (typeof gc === 'function') gc()
  }
}

/** Bytes, after a collection. */
export async function heapUsed(): Promise<number> {
  await collect()
  return process.memoryUsage().heapUsed
}
