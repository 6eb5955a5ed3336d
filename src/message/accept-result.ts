/**
 * The result of delivering an event to the inbox, and the read cursor of an adapter.
 */

export type AcceptResult =
  | { readonly status: 'accepted'; readonly seq: number }
  /** The platform sent the event twice. Acknowledge it. */
  | { readonly status: 'duplicate'; readonly seq: number }
  /** The sender has no access. Acknowledge the event and send no reply, or `reason` on a private platform. */
  | { readonly status: 'refused'; readonly reason: string }

/** The position up to which an account has read a chat or thread. */
export interface ReadCursor {
  /** The adapter's name of the chat or thread. */
  readonly place: string
  /** Increases with time: the longer id is newer; of two ids of equal length, the one that sorts later. */
  readonly id: string
}
