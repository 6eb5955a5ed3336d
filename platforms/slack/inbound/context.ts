/**
 * The result of reading a payload, and the account data that is needed to read it.
 */
import type { ButtonPress, EventKey, MessageChange, MessageEvent, ReadCursor } from '#sdk'
import type { MessageRules } from '../options.ts'
import type { SourceContext } from './source.ts'

export type EventKeys = readonly [EventKey, ...EventKey[]]

export type InboundEvent =
  | { readonly kind: 'message'; readonly event: MessageEvent; readonly keys: EventKeys; readonly cursor: ReadCursor }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: EventKeys }
  | { readonly kind: 'press'; readonly press: ButtonPress }
  /** A slash command. Only its author sees the command and the immediate response. */
  | { readonly kind: 'slash'; readonly event: MessageEvent; readonly keys: EventKeys }
  /** Slack no longer accepts the token. The reason is for the owner. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The reason appears in the log. */
  | { readonly kind: 'ignored'; readonly reason: string }

export interface NormalizeContext extends SourceContext {
  readonly rules: MessageRules
  /** Whether a command of this name exists (small letters, without the slash). */
  isCommand(name: string): boolean
  /** Whether the bot takes part in this thread. */
  hasJoinedThread(channel: string, threadTs: string): boolean
  /** The name of a user or channel, if it is known already. */
  nameOf(id: string): string | undefined
  /** Milliseconds since 1970. */
  now(): number
}

export function ignored(reason: string): InboundEvent {
  return { kind: 'ignored', reason }
}
