/**
 * What the inbox needs of the gateway.
 */
import type { Engine } from '../engine/engine.ts'
import type { Logger } from '../lib/log.ts'
import type { MessageChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { HookEventListener } from '../message/hook-events.ts'
import type { QueueKind, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { Transaction } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { Accounts } from './accounts.ts'

export interface InboxDeps {
  readonly store: Store
  readonly accounts: Pick<Accounts, 'access' | 'lookUpAuthority' | 'editPolicyOf' | 'sessionKey'>
  readonly clock: () => number
  readonly log: Logger
  readonly settings: () => InboxSettings
  /** Events are accepted while the phase is `ready`, and rejected while the daemon starts or has stopped. */
  readonly lifecycle: { readonly phase: string }
  /**
   * Whether an event is stored although the daemon is not ready. While it finishes its turns before it stops, events of chat
   * platforms are stored for the next start, because not every platform delivers an event twice.
   */
  storesForNextStart(event: Pick<MessageEvent, 'source' | 'internal'>): boolean
  /** Called after such an event was stored. Returns at once and never throws. */
  onStoredForNextStart?(event: MessageEvent): void
  /** Called for a message whose sender has no access, before the platform is told. Rejects `store/…`. */
  onRefused?(event: MessageEvent, reason: string): Promise<void>
  readonly commands: InboxCommands
  readonly questions: OpenQuestions
  readonly engine: Pick<Engine, 'isBusy' | 'wake'>
  /** The agent is paused where it is not null: turns wait. */
  readonly running: { paused(): object | null }
  /** Loads what an event for a busy queue does. `urgent`: of the control queue. Rejects when the code cannot be loaded. */
  arriveBusy?(key: SessionKey, event: MessageEvent, queue: QueueKind | 'urgent'): Promise<BusyArrival>
  /** Called after an event of the control queue was stored, before `wake`. */
  onControlEvent?(key: SessionKey, event: MessageEvent, seq: number): void
  /** Called after it was stored that a queued event will not be processed. */
  onWithdrawn(seq: number, result: TurnResult): void
  /** Ends the turn of an event that was deleted while it waited for its next attempt. Rejects `store/…`. */
  stopEvent(seq: number): Promise<void>
  readonly emit: HookEventListener
  /** Whether an event about a message of this platform has a receiver. */
  emitsMessageEvents(source: Pick<SessionSource, 'platform'>): boolean
  /** The plugin hooks that run before the access check; `undefined` without plugins. */
  readonly preDispatchHooks?: PreDispatchHooks
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

/** The commands of chats, by canonical name or alias. */
export interface InboxCommands {
  resolve(name: string): InboxCommand | undefined
  /** Whether the event is a command that hooks neither delay nor decide about. */
  bypassesHooks(event: MessageEvent): boolean
}

interface InboxCommand {
  readonly queue: QueueKind
  readonly bypassesHooks?: boolean | undefined
  /** Whether it answers a question of the agent. */
  readonly answersQuestion?: boolean | undefined
}

/** The questions that wait for answers of people. */
export interface OpenQuestions {
  readonly open: { readonly size: number }
  /** Whether plain words answer the question of a session. */
  isPlainAnswer(key: SessionKey, event: MessageEvent): boolean
  isAsking(key: SessionKey): boolean
}

export interface InboxSettings {
  readonly inbox: { readonly max_message_kb: number }
  readonly reset_triggers: readonly string[]
}

/** Runs in the transaction that stores the event with the number `seq`. */
export type BusyArrival = (seq: number, now: number) => Transaction<unknown>

export interface PreDispatchHooks {
  /** Whether a plugin has registered such a hook, or may still do so. */
  hasPreDispatchHooks(): boolean
  /** Decides about a message. Takes a bounded time. Rejects `http/starting` when the gateway stops before plugins are loaded. */
  preDispatch(
    event: MessageEvent,
    sessionKey: SessionKey,
  ): Promise<
    { readonly kind: 'pass'; readonly event: MessageEvent } | { readonly kind: 'skip'; readonly reason: string }
  >
  /** Called when a change was accepted. Returns at once. */
  messageChanged(change: MessageChange, sessionKey: SessionKey): void
}
