/**
 * What the parts of the outbox share: its dependencies, which accounts may be called, and since when a stop is on.
 */
import type { Logger } from '../lib/log.ts'
import type { Target } from '../message/source.ts'
import type { AccountPolicy } from '../platforms/accounts.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import type { OutboxConfig } from './config.ts'
import type { AttachmentPolicy } from './prepare-attachment.ts'
import type { Chat, OutboxRow } from './queries.ts'
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
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
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly settings: () => OutboxConfig
  /** Which files may go out. Without it none. */
  readonly attachmentPolicy?: AttachmentPolicy
  /** How an account wants answers to be given. Without it: the first message refers to its question, typing is shown. */
  replyPolicy?(of: Pick<Target, 'platform' | 'account'>): ReplyPolicy
  /** A platform has refused the credentials of an account: trying again changes nothing. */
  onUnauthorised?(platform: string, account: string): void
  /** A message has reached its platform, or was given up; told once it is on disk. Must neither throw nor wait. */
  onFinished?(message: FinishedMessage): void
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint: (point: string) => void
}

/** What became of a message in the end. */
export interface FinishedMessage {
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
export function toSentMessage(
  row: Pick<
    OutboxRow,
    'key' | 'platform' | 'account' | 'chat_id' | 'thread_id' | 'session_key' | 'turn_id' | 'kind' | 'op' | 'text'
  >,
  messageId: string | null,
): FinishedMessage | undefined {
  if (row.op === 'edit' && row.turn_id === null) return undefined
  return { ...toFinishedMessage(row), messageId: messageId ?? '' }
}

export function toFinishedMessage({
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
>): FinishedMessage {
  const target = { platform, account, chatId, ...(threadId === '' || threadId === null ? {} : { threadId }) }
  return { key, target, sessionKey, kind, text }
}

export type ReplyPolicy = Pick<AccountPolicy, 'replyTo' | 'typing'>

const defaultReplyPolicy: ReplyPolicy = { replyTo: 'first', typing: true }

export interface OutboxContext extends Omit<OutboxDeps, 'manner'> {
  /** Aborts when a stop begins: no new calls. */
  readonly drainSignal: AbortSignal
  /** Aborts when a stop has waited long enough: ends calls in flight. */
  readonly abortSignal: AbortSignal
  /** The adapter of a chat that may be called now. */
  availableSender(chat: Chat): Sender | undefined
  limits(chat: Chat): MessageLimits
  replyPolicy(chat: Chat): ReplyPolicy
  /** The account was refused: nothing is sent for it until it is connected again. */
  block(chat: Chat): void
  unblock(platform: string, account: string): void
  /** When a chat may be called: sends, edits, typing, deletes and the adapters' own calls share it. */
  readonly rateLimiter: RateLimiter
}

export function createOutboxContext(
  deps: OutboxDeps,
  drainSignal: AbortSignal,
  abortSignal: AbortSignal,
): OutboxContext {
  const blocked = new Set<string>()
  const senderOf = ({ platform, account, chatId }: Chat) => deps.sender({ platform, account, chatId })

  return {
    ...deps,
    drainSignal,
    abortSignal,
    rateLimiter: createRateLimiter(deps),
    availableSender(chat) {
      if (drainSignal.aborted || blocked.has(accountKey(chat.platform, chat.account))) return undefined
      return senderOf(chat)
    },
    limits: (chat) => senderOf(chat)?.limits ?? deps.limitsOf?.(chat.platform, chat.account) ?? defaultLimits,
    replyPolicy: (chat) => deps.replyPolicy?.(chat) ?? defaultReplyPolicy,
    block({ platform, account }) {
      const key = accountKey(platform, account)
      if (blocked.has(key)) return
      blocked.add(key)
      deps.log.warn({ platform, account }, 'credentials refused; replies wait for a new connection')
      deps.onUnauthorised?.(platform, account)
    },
    unblock: (platform, account) => void blocked.delete(accountKey(platform, account)),
  }
}
