/**
 * The keys of the replies of a turn. A key is stored with each row, so a repeated transaction or a resumed turn does not send
 * a reply twice.
 */

/** The reply that ends a turn. */
export function finalReplyKey(turnId: string): string {
  return `turn:${turnId}`
}

/** The text of a response with tool calls. `ord` is the ordinal of the response in the transcript. */
export function interimReplyKey(turnId: string, ord: number): string {
  return `turn:${turnId}:text:${ord}`
}

/** Whether a row belongs to a text before tool calls. */
export function isInterimKey(key: string): boolean {
  return /^turn:[^:]+:text:\d+:/.test(key)
}
