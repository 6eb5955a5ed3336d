/**
 * The one thing that a payload of Slack comes to, and what is known when it is read.
 */
import type { ButtonPress, EventKey, MessageChange, MessageEvent, ReadMark } from '#sdk'
import type { AddressView } from './address.ts'
import type { Rules } from './options.ts'

export type Keys = readonly [EventKey, ...EventKey[]]

export type Incoming =
  | { readonly kind: 'message'; readonly event: MessageEvent; readonly keys: Keys; readonly mark: ReadMark }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: Keys }
  | { readonly kind: 'press'; readonly press: ButtonPress }
  /** Only the person who wrote it sees it, and what is answered at once. */
  | { readonly kind: 'slash'; readonly event: MessageEvent; readonly keys: Keys }
  /** Nothing to do; the reason is for the log. */
  | { readonly kind: 'ignored'; readonly reason: string }

export interface View extends AddressView {
  readonly rules: Rules
  /** A slash command of this name exists; small letters, without the slash. */
  isCommand(name: string): boolean
  /** The bot has taken part in this thread. */
  participates(channel: string, threadTs: string): boolean
  /** The name of a person, where it is known already. */
  nameOf(userId: string): string | undefined
  /** ms since 1970. */
  now(): number
}

export function ignored(reason: string): Incoming {
  return { kind: 'ignored', reason }
}
