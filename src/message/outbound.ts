/**
 * What leaves the gateway, and what a platform says about it (contract §3.1, `SendResult`).
 */
import type { Target } from './source.ts'

export interface OutboundMessage {
  /** Stable over every retry: platforms that know idempotency keys use it as one. */
  readonly deliveryId: string
  readonly target: Target
  /** Markdown. The adapter's `render` turns it into the platform's own form. */
  readonly text: string
  /** `draft` = still being written, it will be edited; `notice` = said by the gateway, not by the model. */
  readonly kind: 'reply' | 'notice' | 'draft'
  /** The platform's id of the message this one answers. */
  readonly replyTo?: string
  /** The turn this belongs to; absent for messages outside any turn. */
  readonly turnId?: string
}

/** Chosen by what the sender does next: wait as told, try again later, give up, stop the account. */
export type SendProblem = 'rate-limited' | 'temporary' | 'rejected' | 'unauthorised'

export type SendResult =
  | { readonly success: true; readonly messageId?: string }
  | {
      readonly success: false
      readonly problem: SendProblem
      readonly error: string
      /** Only with `rate-limited`: no call may be made earlier. */
      readonly retryAfterMs?: number
      /**
       * True when the platform may have taken the message although the answer was lost.
       * The outbox then resolves it or delivers once more with a visible label.
       */
      readonly maybeSent?: boolean
    }
