/**
 * Limits the recursion of plugins: a model request that a plugin sends from its own middleware runs that middleware again.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { HermesError } from '../lib/errors.ts'

/** How many nested requests of one plugin may run. */
const maxDepth = 4

/** Runs a request of a plugin. Rejects with `plugins/too-deep`, or as the request does. */
export type RecursionGuard = <Value>(owner: string, work: () => Promise<Value>) => Promise<Value>

export function createRecursionGuard(): RecursionGuard {
  const storage = new AsyncLocalStorage<readonly string[]>()
  return async (owner, work) => {
    const activeOwners = storage.getStore() ?? []
    if (activeOwners.filter((other) => other === owner).length >= maxDepth) {
      throw new HermesError('plugins/too-deep', `(${owner})`)
    }
    return await storage.run([...activeOwners, owner], work)
  }
}
