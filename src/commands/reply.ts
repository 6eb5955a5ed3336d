/**
 * The reply of a command that changes something durable.
 */
import type { Transaction } from '../store/query.ts'

/** A reply that is created in the transaction that completes the command, together with other writes. */
export interface CommandReply {
  /** Returns the reply as markdown. The transaction may run it again. */
  write(now: number): Transaction<string>
  /** Called after the transaction is durable. */
  committed(): void
  /** Called after the transaction has failed permanently. */
  abandoned(): void
}
