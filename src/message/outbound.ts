/**
 * Outgoing messages and the result of sending them (contract §3.1, `SendResult`).
 */
import type { Target } from './source.ts'

export interface OutboundMessage {
  /** Stable across retries; used as the idempotency key where a platform supports one. */
  readonly deliveryId: string
  readonly target: Target
  /** Markdown, which the adapter renders for the platform. With an attachment: its caption, or ''. */
  readonly text: string
  /** `draft`: incomplete and edited later. `notice`: a message of the gateway, not of the model. */
  readonly kind: 'reply' | 'notice' | 'draft'
  /** The platform's id of the message that this one replies to. */
  readonly replyTo?: string | undefined
  /** A text before tool calls: the final reply of the turn follows. */
  readonly interim?: true
  /** The turn of the message; absent outside a turn. */
  readonly turnId?: string | undefined
  /** A file to send; only adapters with `sendsAttachments` receive it. */
  readonly attachment?: OutboundAttachment | undefined
  /** Buttons below the text; only adapters with `showsButtons` receive them. */
  readonly buttons?: readonly Button[] | undefined
}

/** A file that is sent as a separate message (contract §3.8). */
export interface OutboundAttachment {
  readonly kind: 'image' | 'animation' | 'video' | 'audio' | 'voice' | 'document'
  readonly fileName: string
  readonly mimeType: string
  readonly source:
    | { readonly kind: 'url'; readonly url: string }
    /** The blob reads from disk on demand, until the call with this message has ended. A file that changes cannot be read. */
    | { readonly kind: 'file'; readonly bytes: number; open(): Promise<Blob> }
}

/** Files of one reply that are sent by one call. */
export interface OutboundAlbum extends Pick<OutboundMessage, 'deliveryId' | 'target' | 'kind' | 'replyTo' | 'turnId'> {
  /** In the order of the reply; two at least. */
  readonly files: readonly AlbumFile[]
}

export interface AlbumFile {
  /** Markdown, or ''. */
  readonly caption: string
  readonly attachment: OutboundAttachment
}

/** A button. A press is reported to `PlatformQuestions.press` with its id. */
export interface Button {
  /** At most 64 bytes, letters, digits, `:`, `_` and `-`. */
  readonly id: string
  readonly label: string
  readonly style?: 'primary' | 'danger' | undefined
  /** The answer is the next message of the user; a press changes nothing. */
  readonly isText?: true | undefined
}

/** Determines the next step of the sender: wait, retry later, fail the delivery, stop the account. */
export type SendFailureKind = 'rate-limited' | 'temporary' | 'rejected' | 'unauthorised'

export type SendResult =
  | { readonly success: true; readonly messageId?: string | undefined }
  | {
      readonly success: false
      readonly problem: SendFailureKind
      readonly error: string
      /** Only with `rate-limited`: no call is allowed earlier. */
      readonly retryAfterMs?: number | undefined
      /** Only with `rate-limited`: the scope of the limit. Default: the chat. */
      readonly scope?: 'chat' | 'account' | undefined
      /**
       * True when the platform may have accepted the message although its response was lost. The outbox then checks the
       * chat, or delivers the message again with a visible label.
       */
      readonly maybeSent?: boolean | undefined
      /**
       * Only with `rejected`: the chat takes no message at all any more, because it does not exist or the bot was blocked or
       * removed. Messages that no one there asked for are then not sent until the chat shows life.
       */
      readonly chatGone?: true
    }

export type AlbumResult =
  /** `messageIds`: one for each file in their order, or only one when a single message contains all files. */
  | { readonly success: true; readonly messageIds?: readonly string[] | undefined }
  | Extract<SendResult, { success: false }>
