/**
 * A store around another one, for tests that change how its transactions run. The parts of a transaction end as with any store.
 */
import { createStore } from '../../src/store/commit.ts'
import type { PartStep, QueryStep, Transaction } from '../../src/store/query.ts'
import type { Store } from '../../src/store/store.ts'

export interface StoreChanges {
  /** Called with each query that runs. */
  onQuery?(step: QueryStep): void
  /** Runs one transaction, or lets it fail. */
  around?<Result>(run: () => Promise<Result>): Promise<Result>
}

export function wrapStore(store: Store, { onQuery, around = (run) => run() }: StoreChanges): Store {
  function* forward<Result>(transaction: Transaction<Result>, onPart: (step: PartStep) => void): Transaction<Result> {
    let step = transaction.next()
    while (!step.done) {
      const { value } = step
      if ('part' in value) {
        onPart(value)
        step = transaction.next([])
      } else {
        onQuery?.(value)
        step = transaction.next(yield value)
      }
    }
    return step.value
  }
  return createStore(
    {
      execute: (transaction, onPart) => around(() => store.run(() => forward(transaction(), onPart))),
      close: () => store.close(),
    },
    (error) => {
      throw error
    },
  )
}
