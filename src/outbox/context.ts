/**
 * The dependencies that the parts of the outbox share, and which accounts may be called.
 */
import type { Logger } from '../lib/log.ts'
import type { SecretFilter } from '../lib/redact.ts'
import type { Target } from '../message/source.ts'
import type { AccountPolicy } from '../platforms/accounts.ts'
import type { MessageLimits, PlatformAdapter } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import type { OutboxConfig } from './config.ts'
import type { AttachmentPolicy } from './prepare-attachment.ts'
import { accountKey, type Chat, type OutboxRow } from './queries.ts'
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts'

/** The sending part of an adapter. */
export type Sender = Pick<
  PlatformAdapter,
  | 'send'
  | 'edit'
  | 'remove'
  | 'typing'
  | 'resolveUnknown'
  | 'limits'
  | 'draftIntervalMs'
  | 'idempotentSends'
  | 'drawsCursor'
  | 'appendsDrafts'
  | 'showsDrafts'
  | 'nativeDrafts'
  | 'sendsAttachments'
  | 'albums'
  | 'showsButtons'
>

export interface OutboxDeps {
  readonly store: Store
  /** The connected adapter of a target; `undefined` while its platform is disconnected. */
  sender(target: Target): Sender | undefined
  /** The message limits of the platform's manifest, known before it connects. Without them, the adapter's own apply. */
  limitsOf?(platform: string, account: string): MessageLimits | undefined
  readonly clock: () => number
  /** Between 0 and 1, for jitter. */
  readonly random: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly settings: () => OutboxConfig
  /** Which files may be sent. Without it none. */
  readonly attachmentPolicy?: AttachmentPolicy | undefined
  /** Takes the gateway's own secrets out of what is sent. Without it nothing is taken out. */
  readonly secretFilter?: SecretFilter
  /** The reply settings of an account. Default: the first message refers to its question, and typing is shown. */
  replyPolicy?(account: Pick<Target, 'platform' | 'account'>): ReplyPolicy
  /** Called when a platform has refused the credentials of an account, so that a retry cannot succeed. */
  onUnauthorised?(platform: string, account: string): void
  /** Called when a message was delivered or became a dead letter, after this was stored. Must neither throw nor wait. */
  onFinished?(message: FinishedMessage): void
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

/** A message that was delivered or became a dead letter. */
export interface FinishedMessage {
  /** Starts with the key of the reply that the message is a part of. */
  readonly key: string
  readonly target: Target
  readonly sessionKey: string | null
  readonly kind: 'reply' | 'notice'
  readonly text: string
  /** The platform's id of the message. Absent for a dead letter. */
  readonly messageId?: string
  /** Why it could not be delivered. */
  readonly error?: string
  /** Failed attempts before this result. */
  readonly tries: number
}

/** A new row has none. */
type FailedTries = Partial<Pick<OutboxRow, 'tries'>>

/** For a row that a platform has accepted. `undefined` for the edit of a message that was delivered before. */
export function toSentMessage(
  row: Pick<
    OutboxRow,
    'key' | 'platform' | 'account' | 'chat_id' | 'thread_id' | 'session_key' | 'turn_id' | 'kind' | 'op' | 'text'
  > &
    FailedTries,
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
  tries = 0,
}: Pick<OutboxRow, 'key' | 'platform' | 'account' | 'chat_id' | 'thread_id' | 'session_key' | 'kind' | 'text'> &
  FailedTries): FinishedMessage {
  const target = { platform, account, chatId, ...(threadId === '' || threadId === null ? {} : { threadId }) }
  return { key, target, sessionKey, kind, text, tries }
}

export type ReplyPolicy = Pick<AccountPolicy, 'replyTo' | 'typing'>

const defaultReplyPolicy: ReplyPolicy = { replyTo: 'first', typing: true }

/** Used when neither the adapter nor the manifest names limits. */
const defaultLimits: MessageLimits = { maxChars: 4_000, unit: 'utf16' }

const noSecretFilter: SecretFilter = {
  withhold: (text) => text,
  withholdPartial: (text) => text,
  scanBytes: () => () => false,
}

export interface OutboxContext
  extends Pick<
    OutboxDeps,
    'store' | 'clock' | 'random' | 'sleep' | 'log' | 'settings' | 'attachmentPolicy' | 'onFinished' | 'failpoint'
  > {
  readonly secretFilter: SecretFilter
  /** Aborts when a stop begins: no new calls. */
  readonly drainSignal: AbortSignal
  /** Aborts when the grace period of a stop is over: ends calls in flight. */
  readonly abortSignal: AbortSignal
  /** The adapter of a chat that may be called now. */
  availableSender(chat: Chat): Sender | undefined
  limits(chat: Chat): MessageLimits
  replyPolicy(chat: Pick<Chat, 'platform' | 'account'>): ReplyPolicy
  /** A message contained a secret of this gateway, which was taken out. */
  reportWithheld(chat: Chat, turnId: string | undefined): void
  /** How many messages since the start. */
  withheldMessages(): number
  /** Stops sending for an account whose credentials were refused, until it is connected again. */
  block(chat: Chat): void
  unblock(platform: string, account: string): void
  readonly rateLimiter: RateLimiter
}

export function createOutboxContext(
  deps: OutboxDeps,
  drainSignal: AbortSignal,
  abortSignal: AbortSignal,
): OutboxContext {
  const { store, clock, random, sleep, log, settings, attachmentPolicy, failpoint } = deps
  const blocked = new Set<string>()
  let withheldMessages = 0
  const senderOf = ({ platform, account, chatId }: Chat) => deps.sender({ platform, account, chatId })

  return {
    store,
    clock,
    random,
    sleep,
    log,
    settings,
    failpoint,
    secretFilter: deps.secretFilter ?? noSecretFilter,
    attachmentPolicy,
    onFinished: (message) => deps.onFinished?.(message),
    drainSignal,
    abortSignal,
    rateLimiter: createRateLimiter({ clock, sleep }),
    availableSender(chat) {
      if (drainSignal.aborted || blocked.has(accountKey(chat.platform, chat.account))) return undefined
      return senderOf(chat)
    },
    limits: (chat) => senderOf(chat)?.limits ?? deps.limitsOf?.(chat.platform, chat.account) ?? defaultLimits,
    replyPolicy: (chat) => deps.replyPolicy?.(chat) ?? defaultReplyPolicy,
    reportWithheld({ platform, account, chatId }, turnId) {
      withheldMessages += 1
      log.warn(
        { event: 'outbox.secret_withheld', platform, account, chat: chatId, turn: turnId },
        'a message contained a secret of this gateway, which was withheld',
      )
    },
    withheldMessages: () => withheldMessages,
    block({ platform, account }) {
      const key = accountKey(platform, account)
      if (blocked.has(key)) return
      blocked.add(key)
      log.warn(
        { event: 'outbox.account_blocked', platform, account },
        'credentials refused; replies wait for a new connection',
      )
      deps.onUnauthorised?.(platform, account)
    },
    unblock: (platform, account) => void blocked.delete(accountKey(platform, account)),
  }
}
