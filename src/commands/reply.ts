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

/** A reply that is stored with `write` and needs nothing else. */
export function storedReply(write: CommandReply['write']): CommandReply {
  return { write, committed: () => undefined, abandoned: () => undefined }
}

/** A reply that changes nothing. */
export function textReply(text: string): CommandReply {
  // biome-ignore lint/correctness/useYield: a transaction without a query
  return storedReply(function* () {
    return text
  })
}
