/**
 * The one thing that a payload of Slack comes to, and what is known when it is read.
 */
import type { ButtonPress, EventKey, MessageChange, MessageEvent, ReadCursor } from '#sdk'
import type { MessageRules } from '../options.ts'
import type { SourceContext } from './source.ts'

export type EventKeys = readonly [EventKey, ...EventKey[]]

export type InboundEvent =
  | { readonly kind: 'message'; readonly event: MessageEvent; readonly keys: EventKeys; readonly mark: ReadCursor }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: EventKeys }
  | { readonly kind: 'press'; readonly press: ButtonPress }
  /** Only the person who wrote it sees it, and what is answered at once. */
  | { readonly kind: 'slash'; readonly event: MessageEvent; readonly keys: EventKeys }
  /** Nothing to do; the reason is for the log. */
  | { readonly kind: 'ignored'; readonly reason: string }

export interface NormalizeContext extends SourceContext {
  readonly rules: MessageRules
  /** A slash command of this name exists; small letters, without the slash. */
  isCommand(name: string): boolean
  /** The bot has taken part in this thread. */
  hasJoinedThread(channel: string, threadTs: string): boolean
  /** The name of a person, where it is known already. */
  userNameOf(userId: string): string | undefined
  /** ms since 1970. */
  now(): number
}

export function ignored(reason: string): InboundEvent {
  return { kind: 'ignored', reason }
}
