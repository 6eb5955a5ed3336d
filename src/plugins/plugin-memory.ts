/**
 * The long-term memory of a plugin as the rest of the gateway uses it (contract §4.6, seed 004). Without a plugin every
 * method returns a constant; `memory/provider-memory.ts` replaces them when plugins are loaded.
 */
import type { SubagentInfo, TurnInfo, TurnResponseInfo } from '../agent/support/agent-hooks.ts'
import type { Role } from '../message/authority.ts'
import type { Fields, Registration } from '../middleware/contract.ts'
import type { MemoryProvider } from './memory-provider.ts'

/** The part that a turn uses. Turns of guests, background tasks and sub-agents do not reach the provider. */
export interface TurnMemory {
  /** The memories for a message; '' for none. Never rejects; has a timeout. */
  recall(turn: TurnInfo, message: string): Promise<string>
  /** Queues a completed turn for the provider. Returns immediately. */
  syncTurn(turn: TurnInfo, about: TurnResponseInfo): void
  /** Queues the result of a sub-agent. Returns immediately. */
  delegated(parent: TurnInfo, child: Pick<SubagentInfo, 'goal' | 'sessionId'>, result: string): void
}

/** A conversation, and the person for whom it is asked. */
export interface MemoryOwner {
  readonly sessionId: string
  readonly sessionKey: string
  readonly platform: string
  /** `dm`, `group` ... */
  readonly chatType: string
  /** '' for a message that names no user. */
  readonly userId: string
  readonly role: Role
}

/** A conversation goes on in another session. */
export interface MemorySessionReplacement extends Omit<MemoryOwner, 'sessionId'> {
  /** Null for the first session. */
  readonly oldSessionId: string | null
  /** Equals `oldSessionId` when only messages were taken out of it. */
  readonly newSessionId: string
  /** `new`, `daily` and `idle` end the old session. */
  readonly reason: 'new' | 'daily' | 'idle' | 'resume' | 'branch' | 'compression' | 'undo'
}

/** A change of the built-in memory. */
export interface BuiltInMemoryWrite {
  readonly action: 'add' | 'replace' | 'remove'
  readonly target: 'memory' | 'user'
  readonly content: string
  readonly metadata?: Fields
}

export interface PluginMemory extends TurnMemory {
  /** It is used after the next `refresh`. Removing the registration calls `shutdown` of the provider. */
  register(owner: string, provider: MemoryProvider): Registration
  /** Begins to use the provider that the configuration names, if it is available. Never rejects. */
  refresh(): Promise<void>
  /** The name of the provider in use. */
  activeProviderName(): string | undefined
  /** Why the registered provider is not used; undefined if it is, or if none is registered. */
  problem(): string | undefined
  /** The provider's part of the system prompt of a new session; '' for none. Never rejects. */
  promptBlock(owner: MemoryOwner): Promise<string>
  /** Insights to keep from messages that are about to be summarized; '' for none. Never rejects. */
  beforeCompression(messages: readonly Fields[], owner: MemoryOwner): Promise<string>
  /** Queues the end or the change of a session behind its turns. Returns immediately. */
  sessionReplaced(replacement: MemorySessionReplacement): void
  /** Queues a change of the built-in memory. Returns immediately. */
  memoryWritten(write: BuiltInMemoryWrite, owner: MemoryOwner): void
  /** Resolves when everything queued was delivered (true), or after `withinMs` or an abort of the signal (false). */
  drain(withinMs: number, signal?: AbortSignal): Promise<boolean>
  /** Ends the sessions of the command line, then calls `shutdown` of all providers. Never rejects. */
  stop(): Promise<void>
}

const noop = () => undefined

export const noopPluginMemory: PluginMemory = {
  register() {
    throw new Error('plugins are not loaded')
  },
  refresh: async () => undefined,
  activeProviderName: noop,
  problem: noop,
  recall: async () => '',
  syncTurn: noop,
  delegated: noop,
  promptBlock: async () => '',
  beforeCompression: async () => '',
  sessionReplaced: noop,
  memoryWritten: noop,
  drain: async () => true,
  stop: async () => undefined,
}
