/**
 * What the commands for conversations need of the gateway: list them, open one, take messages back. Loaded with the first of
 * these commands.
 */

import type { Spent } from '../lib/format-cost.ts'
import type { Authority } from '../message/authority.ts'
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { TransactionPart } from '../store/query.ts'
import type { TypedMessage } from './busy.ts'
import type { ModelConversation } from './model.ts'
import type { SessionStatus } from './session.ts'

/** The person who asks, and the chat. */
export interface ConversationCaller {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  readonly authority: Authority
  /** The message in which the command was typed. */
  readonly message?: TypedMessage | undefined
  readonly signal: AbortSignal
}

export interface ConversationEntry {
  readonly id: string
  /** The title, or the beginning of the first message. */
  readonly label: string
  /** When something was last said, ms. */
  readonly at: number
}

export interface ConversationServices {
  /** Earlier conversations of this person or chat, the newest first, without the current one. At most `limit`; only `id`, if given. */
  list(caller: ConversationCaller, limit: number, id?: string): Promise<readonly ConversationEntry[]>
  /** Makes an entry of `list` the current conversation. `say` words the reply. */
  open(
    caller: ConversationCaller,
    entry: ConversationEntry,
    say: (result: OpenResult) => string,
  ): Promise<TransactionPart<string>>
  /** Takes the last exchanges back. In a shared conversation these are one's own; those of others only for an owner. */
  undo(caller: ConversationCaller, count: number, say: (result: UndoResult) => string): Promise<TransactionPart<string>>
  /** Takes the last answer back and lets the agent answer the same message again, to the message with the command. */
  retry(caller: ConversationCaller, say: (result: RetryResult) => string): Promise<TransactionPart<string>>
  /** Continues with a copy of the conversation. */
  branch(
    caller: ConversationCaller,
    title: string,
    say: (result: BranchResult) => string,
  ): Promise<TransactionPart<string>>
  /** Names the current conversation, and begins it if it has not begun. */
  rename(key: SessionKey, source: SessionSource, title: string): Promise<void>
  status(key: SessionKey): Promise<SessionStatus>
  /** Undefined before the first message. */
  usage(key: SessionKey): Promise<ConversationUsage | undefined>
  /** Numbers of the last `days` days: of the whole gateway for an owner in a direct message, else of what `list` shows. */
  insights(caller: ConversationCaller, days: number): Promise<Insights>
  /** The window of the model that answers here, in tokens. */
  contextLength(conversation: ModelConversation): Promise<number>
  /** Takes known secrets out of a text, as replies do. */
  withhold(text: string): string
}

export type OpenResult =
  | { readonly kind: 'opened'; readonly messages: number; readonly last: string }
  /** Another chat continues this conversation. */
  | { readonly kind: 'in-use' }

export interface UndoResult {
  /** The number of exchanges that were taken back; fewer than requested at the beginning or at a summary. */
  readonly count: number
  /** The earliest message that was taken back; '' when there is none. */
  readonly text: string
  /** The agent used tools in what was taken back; their effects stay. */
  readonly usedTools: boolean
  /** What came before is summarised, so it cannot be taken back. */
  readonly reachesSummary: boolean
  /** The names of other people whose messages were taken back; '' for an unknown author. */
  readonly others: readonly string[]
  /** The author of the message before, which only this person or an owner can take back; '' for an unknown one. */
  readonly keptOf?: string | undefined
}

export type RetryResult =
  | { readonly kind: 'again' }
  | { readonly kind: 'nothing' }
  /** The last message is part of a summary. */
  | { readonly kind: 'summarised' }
  /** In a shared conversation, the last message is another person's. */
  | { readonly kind: 'not-yours' }
  /** In a shared conversation, the author of the last message is not stored any more, or it is not a person. */
  | { readonly kind: 'unknown-author' }
  /** Other messages wait for an answer. */
  | { readonly kind: 'queued' }

export type BranchResult =
  | { readonly kind: 'branched'; readonly sessionId: SessionId; readonly messages: number }
  | { readonly kind: 'nothing' }

export interface ConversationUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly spent: Spent
  /** In the turn of the newest response. */
  readonly lastTurn: Spent | undefined
  readonly messages: number
  /** Tokens of the latest request and its response; undefined before the first response. */
  readonly contextTokens: number | undefined
  /** The tokens of the latest request that the provider read from its cache. */
  readonly cachedTokens: number
  readonly startedAt: number
}

export interface Insights {
  readonly sessions: number
  readonly messages: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
  readonly unpricedTokens: number
  /** Local days, the oldest first; days without activity are left out. */
  readonly days: readonly (Spent & { readonly day: string; readonly sessions: number })[]
  /** The models with the most tokens. */
  readonly models: readonly (Spent & { readonly model: string })[]
  /** The most used tools. */
  readonly tools: readonly { readonly name: string; readonly calls: number }[]
  readonly isWholeGateway: boolean
}
