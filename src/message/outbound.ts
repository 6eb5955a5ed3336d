/**
 * What leaves the gateway, and what a platform says about it (contract §3.1, `SendResult`).
 */
import type { Target } from './source.ts'

export interface OutboundMessage {
  /** Stable over every retry: platforms that know idempotency keys use it as one. */
  readonly deliveryId: string
  readonly target: Target
  /** Markdown. The adapter's `render` turns it into the platform's own form. Beside an attachment: its caption, or ''. */
  readonly text: string
  /** `draft` = still being written, it will be edited; `notice` = said by the gateway, not by the model. */
  readonly kind: 'reply' | 'notice' | 'draft'
  /** The platform's id of the message this one answers. */
  readonly replyTo?: string
  /** The turn this belongs to; absent for messages outside any turn. */
  readonly turnId?: string
  /** A file or picture to send; only adapters that say `sendsAttachments` get it. */
  readonly attachment?: OutboundAttachment
  /** Choices under the text; only adapters that say `showsButtons` get them. */
  readonly buttons?: readonly Button[]
}

/** A file that goes out with a message of its own (contract §3.8). */
export interface OutboundAttachment {
  readonly kind: 'image' | 'animation' | 'video' | 'audio' | 'voice' | 'document'
  readonly fileName: string
  readonly mimeType: string
  readonly source:
    | { readonly kind: 'url'; readonly url: string }
    /** `open` may reject when the file has gone meanwhile or may not be sent; the blob reads from the disk as it is used. */
    | { readonly kind: 'file'; readonly bytes: number; open(): Promise<Blob> }
}

/** One choice. A press comes back as `PlatformContext.press` with its id. */
export interface Button {
  /** At most 64 bytes, letters, digits, `:`, `_` and `-`. */
  readonly id: string
  readonly label: string
  readonly style?: 'primary' | 'danger'
}

/** Chosen by what the sender does next: wait as told, try again later, give up, stop the account. */
export type SendFailureKind = 'rate-limited' | 'temporary' | 'rejected' | 'unauthorised'

export type SendResult =
  | { readonly success: true; readonly messageId?: string }
  | {
      readonly success: false
      readonly problem: SendFailureKind
      readonly error: string
      /** Only with `rate-limited`: no call may be made earlier. */
      readonly retryAfterMs?: number
      /** Only with `rate-limited`: whom the limit stops. Without it the chat. */
      readonly scope?: 'chat' | 'account'
      /**
       * True when the platform may have taken the message although the answer was lost.
       * The outbox then resolves it or delivers once more with a visible label.
       */
      readonly maybeSent?: boolean
    }
