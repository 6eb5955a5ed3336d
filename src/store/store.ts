/**
 * The contract of the store, which runs transactions without knowing their meaning. SQLite implements it. An executor for
 * PostgreSQL has the same two methods and passes the same contract suite.
 */
import type { PartStep, Transaction, TransactionPart } from './query.ts'

export interface Store {
  /**
   * Runs a transaction and resolves when it is durable and its parts know it. Rejects with the error of the transaction body
   * (after a rollback) or with a `HermesError` `store/…`. Cannot be aborted, because it takes milliseconds.
   */
  run<Result>(transaction: () => Transaction<Result>): Promise<Result>
  /**
   * Runs one part, and what it enlists, in a transaction of its own, as `run` does. The part is rolled back also when the
   * transaction could not begin. `clock` is read at the beginning of each try.
   */
  commit<Result>(part: TransactionPart<Result>, clock: () => number, retry?: Retry): Promise<Result>
  /** Runs the queued transactions and closes the database. May be called twice. */
  close(): Promise<void>
}

/** Called when a try has failed. Resolves when the next one is due; rejects, with the error, when there is none. */
export type Retry = (error: unknown, failures: number) => Promise<void>

/** Runs transactions on a database. `createStore` adds the parts. */
export interface TransactionExecutor {
  /** Runs like `Store.run`, but only passes on what the transaction says of its parts. May call `transaction` several times. */
  execute<Result>(transaction: () => Transaction<Result>, onPart: (step: PartStep) => void): Promise<Result>
  close(): Promise<void>
}
