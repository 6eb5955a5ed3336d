/**
 * The inbox's answer to an adapter that delivers an event, and the adapter's position in what it has read.
 */

export type AcceptResult =
  | { readonly status: 'accepted'; readonly seq: number }
  /** The key is known: the platform sent the event twice. Acknowledge it. */
  | { readonly status: 'duplicate'; readonly seq: number }
  /** The sender may not talk to the agent. Acknowledge the event and reply nothing, or `reason` where the platform is private. */
  | { readonly status: 'refused'; readonly reason: string }

/** How far an account has read one chat or thread, as the platform counts. */
export interface ReadCursor {
  /** The adapter's own name of the chat or thread. */
  readonly place: string
  /** Grows with time: the longer id is the newer one; of two ids of equal length, the one that sorts later. */
  readonly id: string
}
