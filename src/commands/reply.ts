/**
 * The reply of a command: a text, or a part of the transaction that completes the command and returns the text as markdown.
 */
import type { TransactionPart } from '../store/transaction-part.ts'

/** A reply that changes nothing. */
export function textReply(text: string): TransactionPart<string> {
  return {
    // biome-ignore lint/correctness/useYield: a transaction without a query
    *write() {
      return text
    },
  }
}
