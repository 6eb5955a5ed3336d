/**
 * The contract of the store, which runs transactions without knowing their meaning. SQLite implements it. An implementation
 * for PostgreSQL has the same two methods and passes the same contract suite.
 */
import type { Transaction } from './query.ts'

export interface Store {
  /**
   * Runs a transaction and resolves when it is durable. Rejects with the error of the transaction body (after a rollback) or
   * with a `HermesError` `store/…`. Cannot be aborted, because it takes milliseconds.
   */
  run<Result>(transaction: () => Transaction<Result>): Promise<Result>
  /** Runs the queued transactions and closes the database. May be called twice. */
  close(): Promise<void>
}
