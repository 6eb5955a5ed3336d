/**
 * The contract of the store: it runs transactions and knows nothing of what they mean.
 * SQLite today; PostgreSQL implements the same two methods and passes the same contract suite.
 */
import type { Transaction } from './query.ts'

export interface Store {
  /**
   * Runs a use case in one transaction and resolves after it is durable.
   * Rejects with what the use case threw (nothing of it is kept), or with a `HermesError` `store/…`.
   * Cannot be aborted: it takes milliseconds.
   */
  run<Result>(useCase: () => Transaction<Result>): Promise<Result>
  /** Waits for what is queued and closes. May be called twice. */
  close(): Promise<void>
}
