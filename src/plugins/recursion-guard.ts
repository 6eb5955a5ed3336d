/**
 * Keeps a plugin from calling itself for ever: one that asks the model within its own middleware is asked again by that
 * very question.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { HermesError } from '../lib/errors.ts'

/** How often a plugin may be on the way from a request of its own to the next. */
const maxDepth = 4

/** Runs what a plugin asks for. Rejects `plugins/too-deep`, else as the work does. */
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
