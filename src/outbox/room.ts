/**
 * What the parts of the outbox share: its dependencies, which accounts may be called, and since when a stop is on.
 */
import type { Logger } from '../lib/log.ts'
import type { Target } from '../message/source.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import type { OutboxConfig } from './config.ts'
import type { Chat } from './queries.ts'
import { accountKey, chatKey, defaultLimits, type Sender } from './sender.ts'

export interface OutboxDeps {
  readonly store: Store
  /** The connected adapter of a target; undefined while its platform is not connected. */
  sender(target: Target): Sender | undefined
  /** What fits into a message as the platform's manifest says, known before it connects. Without it the adapter's own. */
  limitsOf?(platform: string, account: string): MessageLimits | undefined
  readonly clock: () => number
  /** Between 0 and 1, for jitter. */
  readonly random: () => number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly settings: () => OutboxConfig
  /** A platform has refused the credentials of an account: trying again changes nothing. */
  onRefused?(platform: string, account: string): void
  /** Named points for crash tests; does nothing in production. */
  readonly probe: (point: string) => void
}

export interface Room extends OutboxDeps {
  /** Aborts when a stop begins: no new calls. */
  readonly quit: AbortSignal
  /** Aborts when a stop has waited long enough: ends calls in flight. */
  readonly halt: AbortSignal
  /** The adapter of a chat that may be called now. */
  open(chat: Chat): Sender | undefined
  limits(chat: Chat): MessageLimits
  /** The account was refused: nothing is sent for it until it is connected again. */
  block(chat: Chat): void
  unblock(platform: string, account: string): void
  /** No call for this chat before `until` (ms): sends and drafts share one budget. */
  hold(chat: Chat, until: number): void
  /** How long the chat must still wait, ms; 0 when it need not. */
  holdMs(chat: Chat): number
}

export function createRoom(deps: OutboxDeps, quit: AbortSignal, halt: AbortSignal): Room {
  const blocked = new Set<string>()
  const heldUntil = new Map<string, number>()
  const senderOf = ({ platform, account, chatId }: Chat) => deps.sender({ platform, account, chatId })

  return {
    ...deps,
    quit,
    halt,
    open(chat) {
      if (quit.aborted || blocked.has(accountKey(chat.platform, chat.account))) return undefined
      return senderOf(chat)
    },
    limits: (chat) => senderOf(chat)?.limits ?? deps.limitsOf?.(chat.platform, chat.account) ?? defaultLimits,
    block({ platform, account }) {
      const key = accountKey(platform, account)
      if (blocked.has(key)) return
      blocked.add(key)
      deps.log.warn({ platform, account }, 'credentials refused; replies wait for a new connection')
      deps.onRefused?.(platform, account)
    },
    unblock: (platform, account) => void blocked.delete(accountKey(platform, account)),
    hold(chat, until) {
      const now = deps.clock()
      for (const [key, end] of heldUntil) if (end <= now) heldUntil.delete(key)
      const key = chatKey(chat)
      heldUntil.set(key, Math.max(until, heldUntil.get(key) ?? 0))
    },
    holdMs: (chat) => Math.max(0, (heldUntil.get(chatKey(chat)) ?? 0) - deps.clock()),
  }
}
