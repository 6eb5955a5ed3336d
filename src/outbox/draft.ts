/**
 * The contract of live drafts (`drafts.ts`). Types only.
 */
import type { Target } from '../message/source.ts'
import type { StoredDraft } from './queries.ts'

/** The message that shows a draft, for the final reply to replace it. */
export interface DraftAddress {
  /** With `deliveryId` an address of `lostDraftAddress`. */
  readonly platformId: string
  /** It is not known whether there is a message. The platform can be asked for this one. */
  readonly deliveryId?: string | undefined
  /** The text that the message shows now, including the cursor; '' when it is not known. */
  readonly shownText: string
  /** When the draft was first shown, ms; absent when it is not known. */
  readonly shownSince?: number | undefined
  /** The part of the turn that the draft shows. Default: 0. */
  readonly part?: number | undefined
}

export interface Draft {
  /** Whether a text that may still be replaced can be shown. */
  readonly showsProvisionalText: boolean
  /** Takes the whole text so far; only the newest text is shown. Returns at once and never throws. */
  update(fullText: string): void
  /** Ends the draft. Resolves after the last call in flight; `null` when no message is in the chat. May be called twice. */
  close(): Promise<DraftAddress | null>
  /** Whether the chat has shown a part of the text, also as a native draft, of which no message is left. */
  wasShown(): boolean
}

export interface DraftOptions {
  readonly target: Target
  readonly turnId: string
  /** The number of texts of the turn that were shown before. Each has a draft of its own. Default: 0. */
  readonly part?: number
  /** The platform's id of the message that is being answered. */
  readonly replyTo?: string | undefined
  /** The turn began before a restart: it may have a draft whose address was not stored. */
  readonly resumed?: boolean
}

export interface Drafts {
  /** `null` when drafts cannot be shown and the turn has no earlier draft to replace. */
  open(options: DraftOptions): Draft | null
  addressOf(turnId: string, part: number): DraftAddress | null
  /** Adds the addresses that were stored before a restart. */
  restore(stored: readonly StoredDraft[]): void
  /** Called when a reply has taken the address over. */
  forget(turnId: string, part: number): void
  /** The indexes of the status messages that an earlier attempt of the turn has left in the chat. */
  leftStatuses(turnId: string): number[]
  /** `close` waits for this work, too. */
  track(work: Promise<void>): void
  /** Ends all drafts; resolves after their last calls. */
  close(): Promise<void>
}
