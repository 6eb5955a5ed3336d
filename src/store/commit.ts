/**
 * Ends the parts of a transaction: each one that the committed try has written is told of the commit, in the order in which
 * they ended, and every other one of the rollback. No other file does either.
 */
import { type EnlistedPart, enlist, type PartStep, type Transaction } from './query.ts'
import type { Retry, Store, TransactionExecutor } from './store.ts'

/** @param onError receives an error of `committed` or `rolledBack`; must not throw */
export function createStore(executor: TransactionExecutor, onError: (error: unknown) => void): Store {
  async function settle<Result>(transaction: () => Transaction<Result>, parts: Parts, retry?: Retry): Promise<Result> {
    const begin = () => {
      parts.beginTry()
      return transaction()
    }
    let stored: { readonly result: Result } | undefined
    for (let failures = 1; stored === undefined; failures++) {
      try {
        stored = { result: await executor.execute(begin, parts.take) }
      } catch (error) {
        try {
          if (retry === undefined) throw error
          await retry(error, failures)
        } catch (last) {
          parts.rollBack()
          throw last
        }
      }
    }
    parts.commit()
    return stored.result
  }

  return {
    run: (transaction) => settle(transaction, createParts(onError)),
    commit: (part, clock, retry) => settle(() => enlist(part, clock()), createParts(onError, part), retry),
    async close() {
      await executor.close()
      // What follows the last transactions comes first.
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** For a part that no transaction will write. */
export function abandon(part: EnlistedPart): void {
  part.parts?.forEach(abandon)
  part.rolledBack?.()
}

interface Parts {
  beginTry(): void
  take(step: PartStep): void
  commit(): void
  rollBack(): void
}

/** @param first known before the transaction begins */
function createParts(onError: (error: unknown) => void, first?: EnlistedPart): Parts {
  /** The parts of all tries. */
  const begun = new Set<EnlistedPart>()
  /** The parts that the newest try has written, with what follows its commit. */
  const written = new Map<EnlistedPart, () => void>()

  if (first !== undefined) begin(first)

  function begin(part: EnlistedPart): void {
    begun.add(part)
    part.parts?.forEach(begin)
  }

  function call(effect: () => void): void {
    try {
      effect()
    } catch (error) {
      onError(error)
    }
  }

  function rollBack(): void {
    for (const part of [...begun].reverse()) if (!written.has(part)) call(() => part.rolledBack?.())
  }

  return {
    beginTry: () => written.clear(),
    take({ part, committed }) {
      if (committed === undefined) return begin(part)
      begun.add(part)
      // A part that is written twice has ended when it was written last.
      written.delete(part)
      written.set(part, committed)
    },
    commit() {
      rollBack()
      for (const effect of written.values()) call(effect)
    },
    rollBack() {
      written.clear()
      rollBack()
    },
  }
}
