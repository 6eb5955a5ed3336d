/**
 * What travels between the adapter and the page: one JSON object a line, from `GET /web/stream`.
 * Both sides read this file (the page through JSDoc), so they cannot drift apart. It imports nothing.
 */

/** One stored line of the chat; the same shape as the gateway's `ChatEntry`. */
export interface WireEntry {
  readonly id: string
  readonly from: 'user' | 'agent'
  readonly kind: 'message' | 'notice'
  readonly text: string
  /** ms since 1970. */
  readonly at: number
  readonly turnId?: string
  /** The id that a page gave the message when it sent it. */
  readonly messageId?: string
}

export interface WireInfo {
  readonly version: string
  readonly model: string
  readonly provider: string
  readonly degraded: readonly string[]
}

export type LiveEvent =
  | { readonly type: 'info'; readonly info: WireInfo }
  | { readonly type: 'entry'; readonly entry: WireEntry }
  /** The text of a draft is its first `at` UTF-16 units as known, then `text`. */
  | { readonly type: 'draft'; readonly id: string; readonly turnId: string; readonly at: number; readonly text: string }
  | { readonly type: 'draft-gone'; readonly id: string }
  | { readonly type: 'turn'; readonly turnId: string; readonly state: 'running' | 'done' | 'failed' | 'stopped' }
  | {
      readonly type: 'tool'
      readonly turnId: string
      readonly callId: string
      readonly tool: string
      readonly label: string
      readonly state: 'running' | 'done' | 'failed'
      readonly summary: string
    }
  /** All that was missed has been sent; what is live now follows. `more`: older lines exist. */
  | { readonly type: 'ready'; readonly more: boolean }
  | { readonly type: 'typing' }
  | { readonly type: 'ping' }

export type ToolEvent = Extract<LiveEvent, { type: 'tool' }>
export type DraftEvent = Extract<LiveEvent, { type: 'draft' }>
