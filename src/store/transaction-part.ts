/**
 * A part of a transaction: what it writes, and what follows the commit or the rollback. A part enlists further parts while it
 * writes, so that the caller that commits the whole needs to know only one part.
 */
import type { EnlistedPart, Transaction } from './query.ts'

/** Its functions do not depend on `this`. */
export interface TransactionPart<Result = void> {
  /** Runs within the transaction, and again when the transaction is repeated: it must not rely on an earlier try. */
  readonly write: (now: number) => Transaction<Result>
  /** Called once, after the commit, with what `write` has returned. An error is logged and changes nothing. */
  readonly committed?: ((result: Result) => void) | undefined
  /** Called once if the transaction, with all its tries, has not stored the part. */
  readonly rolledBack?: (() => void) | undefined
  /** What `write` enlists and is known before: it is rolled back also when `write` does not come to it. */
  readonly parts?: readonly EnlistedPart[] | undefined
}

/** Writes a part within the current transaction. Its `committed` follows those of the parts that have ended before it. */
export function* enlist<Result>(part: TransactionPart<Result>, now: number): Transaction<Result> {
  yield { part }
  const result = yield* part.write(now)
  yield { part, committed: () => part.committed?.(result) }
  return result
}

/** Several parts as one. */
export function combine(parts: readonly TransactionPart[]): TransactionPart {
  return {
    parts,
    *write(now) {
      for (const part of parts) yield* enlist(part, now)
    },
  }
}

/** Calls `effect` once the current transaction is committed, after the effects before it. */
export function* afterCommit(effect: () => void): Transaction<void> {
  yield { part: {}, committed: effect }
}
