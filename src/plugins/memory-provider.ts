/**
 * The contract of a long-term memory (seed 004, `contract/agent.md` S1): the methods of Hermes' `MemoryProvider`, in camel
 * case. One provider is used beside the built-in memory; `memory.provider` names it.
 *
 * One object serves all conversations, so each call says whose conversation it is. Every method but `name` is optional. A
 * call that throws, hangs or returns something else counts as a call without a result.
 */
import type { Awaitable, Fields } from '../middleware/contract.ts'

export interface MemoryProvider {
  readonly name: string
  /**
   * What a person said in private is not recalled where others read it. Providers without this are used in private conversations
   * only, unless `memory.group_memory` is `all`.
   */
  readonly separatesChats?: boolean | undefined

  // — Use

  /** Whether it is configured; without network. If false, nothing else but `unavailableReason` is called. */
  isAvailable?(): Awaitable<boolean>
  /** What is missing, for people. */
  unavailableReason?(): Awaitable<string>
  /** Called before the other methods for each person in each conversation. */
  initialize?(sessionId: string, context: MemoryContext): Awaitable<unknown>
  /** Called when the gateway stops or no longer uses the provider. */
  shutdown?(): Awaitable<unknown>

  // — Recall

  /** A part of the system prompt of a new session: at most 8,000 characters. */
  systemPromptBlock?(context: MemoryContext): Awaitable<string | null>
  /**
   * Called once per turn, before the first model call, unless the message is trivial (`ok`, `thanks`). The result is added to
   * the user's message for this turn only, as data: at most 16,000 characters.
   */
  prefetch?(query: string, context: MemoryContext): Awaitable<string | null>
  /** Called after a turn: the provider may prepare what the next `prefetch` returns. */
  queuePrefetch?(query: string, context: MemoryContext): Awaitable<unknown>

  // — What happens

  /** A turn with the user begins. `turn` counts from 1 since the gateway started. */
  onTurnStart?(turn: number, message: string, context: MemoryTurnContext): Awaitable<unknown>
  /** A turn was answered. Called in order, and behind the reply. */
  syncTurn?(user: string, assistant: string, context: MemorySyncContext): Awaitable<unknown>
  /** A conversation ends with `/new` or by time; `messages` is all of it. */
  onSessionEnd?(messages: readonly Fields[], context: MemoryContext): Awaitable<unknown>
  /** The conversation goes on in another session, or without its last messages (`rewound`). */
  onSessionSwitch?(newSessionId: string, change: MemorySessionChange, context: MemoryContext): Awaitable<unknown>
  /** Called before messages are summarized. Returns what the summary must keep: at most 8,000 characters. */
  onPreCompress?(messages: readonly Fields[], context: MemoryContext): Awaitable<string | null>
  /** The built-in memory was changed: `add`, `replace` or `remove` in `memory` or `user`. */
  onMemoryWrite?(action: string, target: string, content: string, context: MemoryWriteContext): Awaitable<unknown>
  /** A sub-agent has ended. */
  onDelegation?(task: string, result: string, context: MemoryDelegationContext): Awaitable<unknown>

  // — Tools of the provider, for sessions that start afterwards

  toolSchemas?(): Awaitable<readonly MemoryToolSchema[]>
  /** Returns the result for the model: a text, or a value that is converted to JSON. */
  handleToolCall?(name: string, args: Fields, context: MemoryToolContext): Awaitable<unknown>

  // — Setup

  /** What a person is asked when the provider is set up. */
  getConfigSchema?(): Awaitable<readonly MemoryConfigField[]>
  /** Stores what was answered, without secrets: those are in `.env`. */
  saveConfig?(values: Fields, hermesHome: string): Awaitable<unknown>
}

export interface MemoryContext {
  readonly sessionId: string
  /** The key of the conversation; it stays the same when another session begins. */
  readonly sessionKey: string
  /** `cli` on the command line. */
  readonly platform: string
  /** `dm`, `group`, `channel`, `thread`, `forum`. Everywhere but in a `dm` other people read the answers. */
  readonly chatType: string
  /** The author of the message; '' if it names none. */
  readonly userId: string
  /** `$HERMES_HOME`, absolute. */
  readonly hermesHome: string
  /** A provider is called for conversations with people only; the other values of the contract do not occur. */
  readonly agentContext: 'primary' | 'subagent' | 'cron' | 'flush'
  /** '' for a session without a parent. */
  readonly parentSessionId: string
}

export interface MemoryTurnContext extends MemoryContext {
  readonly turnId: string
  readonly model: string
}

export interface MemorySyncContext extends MemoryContext {
  /** The conversation up to the reply, in the format of OpenAI. Built when it is read. */
  readonly messages: readonly Fields[]
}

export interface MemorySessionChange {
  /** The session that is left; '' for a new conversation. */
  readonly parentSessionId: string
  /** A new conversation begins. */
  readonly reset: boolean
  /** The same session without its last messages. */
  readonly rewound: boolean
  /** `new`, `daily`, `idle`, `resume`, `branch`, `compression`, `undo`. */
  readonly reason: string
}

export interface MemoryWriteContext extends MemoryContext {
  /** Such as `old_text`. */
  readonly metadata: Fields
}

export interface MemoryDelegationContext extends MemoryContext {
  readonly childSessionId: string
}

export interface MemoryToolContext extends MemoryContext {
  readonly turnId: string
  readonly toolCallId: string
  readonly signal: AbortSignal
}

export interface MemoryToolSchema {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object. */
  readonly parameters: Fields
  /** `effect` if omitted: it is never repeated. */
  readonly mode?: 'pure' | 'idempotent' | 'effect'
}

export interface MemoryConfigField {
  readonly key: string
  readonly description?: string
  /** The answer is stored in `.env`. */
  readonly secret?: boolean
  readonly required?: boolean
  readonly default?: unknown
  readonly choices?: readonly unknown[]
  /** `text` if omitted; `integer`, `number`, `boolean`. */
  readonly type?: string
  /** Where a person gets the value. */
  readonly url?: string
  /** The environment variable of a secret. */
  readonly env_var?: string
}
