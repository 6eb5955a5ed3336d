/**
 * What `/queue`, `/steer` and `/busy` need of the gateway. Loaded with the first of these commands.
 */

import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { TransactionPart } from '../store/query.ts'

/** The message in which a command was typed. */
export interface TypedMessage {
  readonly seq: number
  readonly event: MessageEvent
}

/** What happens to the text of the command. `starts`: nothing runs, so that it is answered at once. */
export type EnqueueResult = 'starts' | 'waits' | 'interrupts' | 'steers' | 'refused'

export interface BusyServices {
  /** Makes a message for the model of the text after the command. `say` words the reply. Throws `inbox/too-large`. */
  enqueue(
    key: SessionKey,
    typed: TypedMessage,
    message: { readonly mode: 'queue' | 'steer'; readonly text: string },
    say: (result: EnqueueResult) => string,
  ): TransactionPart<string>
  /** The mode of a conversation; `isChosen`: a person has chosen it there. */
  modeOf(key: SessionKey): Promise<{ readonly mode: string; readonly isChosen: boolean }>
  /** Stores the choice of a conversation; null removes it. False when there is no such mode. */
  choose(key: SessionKey, mode: string | null): Promise<boolean>
}
