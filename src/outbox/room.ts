/**
 * What the parts of the outbox share: its dependencies, which accounts may be called, and since when a stop is on.
 */
import type { Logger } from '../lib/log.ts'
import type { Target } from '../message/source.ts'
import type { AccountManner } from '../platforms/accounts.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import { type Budget, createBudget } from './budget.ts'
import type { OutboxConfig } from './config.ts'
import type { FileRules } from './outgoing-file.ts'
import type { Chat, OutboxRow } from './queries.ts'
import { accountKey, defaultLimits, type Sender } from './sender.ts'

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
  /** Which files may go out. Without it none. */
  readonly files?: FileRules
  /** How an account wants answers to be given. Without it: the first message refers to its question, typing is shown. */
  manner?(of: Pick<Target, 'platform' | 'account'>): Manner
  /** A platform has refused the credentials of an account: trying again changes nothing. */
  onRefused?(platform: string, account: string): void
  /** A message has reached its platform, or was given up; told once it is on disk. Must neither throw nor wait. */
  onSettled?(message: SettledMessage): void
  /** Named points for crash tests; does nothing in production. */
  readonly probe: (point: string) => void
}

/** What became of a message in the end. */
export interface SettledMessage {
  /** Begins with the key of the reply that it is a part of. */
  readonly key: string
  readonly target: Target
  readonly sessionKey: string | null
  readonly kind: 'reply' | 'notice'
  readonly text: string
  /** The platform's id of it. Absent where it was given up. */
  readonly messageId?: string
  /** Why it was given up. */
  readonly error?: string
}

/** Of a row that a platform has taken. Undefined for an edit of what people have read already. */
export function sentMessage(
  row: Pick<
    OutboxRow,
    'key' | 'platform' | 'account' | 'chat_id' | 'thread_id' | 'session_key' | 'turn_id' | 'kind' | 'op' | 'text'
  >,
  messageId: string | null,
): SettledMessage | undefined {
  if (row.op === 'edit' && row.turn_id === null) return undefined
  return { ...settledMessage(row), messageId: messageId ?? '' }
}

export function settledMessage({
  key,
  platform,
  account,
  chat_id: chatId,
  thread_id: threadId,
  session_key: sessionKey,
  kind,
  text,
}: Pick<
  OutboxRow,
  'key' | 'platform' | 'account' | 'chat_id' | 'thread_id' | 'session_key' | 'kind' | 'text'
>): SettledMessage {
  const target = { platform, account, chatId, ...(threadId === '' || threadId === null ? {} : { threadId }) }
  return { key, target, sessionKey, kind, text }
}

export type Manner = Pick<AccountManner, 'replyTo' | 'typing'>

const plainManner: Manner = { replyTo: 'first', typing: true }

export interface Room extends Omit<OutboxDeps, 'manner'> {
  /** Aborts when a stop begins: no new calls. */
  readonly quit: AbortSignal
  /** Aborts when a stop has waited long enough: ends calls in flight. */
  readonly halt: AbortSignal
  /** The adapter of a chat that may be called now. */
  open(chat: Chat): Sender | undefined
  limits(chat: Chat): MessageLimits
  manner(chat: Chat): Manner
  /** The account was refused: nothing is sent for it until it is connected again. */
  block(chat: Chat): void
  unblock(platform: string, account: string): void
  /** When a chat may be called: sends, edits, typing, deletes and the adapters' own calls share it. */
  readonly budget: Budget
}

export function createRoom(deps: OutboxDeps, quit: AbortSignal, halt: AbortSignal): Room {
  const blocked = new Set<string>()
  const senderOf = ({ platform, account, chatId }: Chat) => deps.sender({ platform, account, chatId })

  return {
    ...deps,
    quit,
    halt,
    budget: createBudget(deps),
    open(chat) {
      if (quit.aborted || blocked.has(accountKey(chat.platform, chat.account))) return undefined
      return senderOf(chat)
    },
    limits: (chat) => senderOf(chat)?.limits ?? deps.limitsOf?.(chat.platform, chat.account) ?? defaultLimits,
    manner: (chat) => deps.manner?.(chat) ?? plainManner,
    block({ platform, account }) {
      const key = accountKey(platform, account)
      if (blocked.has(key)) return
      blocked.add(key)
      deps.log.warn({ platform, account }, 'credentials refused; replies wait for a new connection')
      deps.onRefused?.(platform, account)
    },
    unblock: (platform, account) => void blocked.delete(accountKey(platform, account)),
  }
}
