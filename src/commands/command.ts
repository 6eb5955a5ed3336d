/**
 * The contract of a slash command: a word handled without the model.
 */
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { Transaction } from '../store/query.ts'

export interface CommandContext {
  readonly source: SessionSource
  readonly sessionKey: SessionKey
  /** The canonical name. */
  readonly name: string
  readonly args: string
  /** What was typed, without the slash. */
  readonly rawCommand: string
  readonly signal: AbortSignal
}

/** What commands may do with sessions; `gateway.ts` gives it. */
export interface CommandServices {
  readonly version: string
  commands(): readonly CommandDefinition[]
  /** Stops the running turn of a session; resolves with whether there was one, once it has ended or five seconds later. */
  stopTurn(key: SessionKey): Promise<boolean>
  /** Stops the running turn, ends the session and begins a new one under the same key; what waits is answered there. */
  resetSession(key: SessionKey, source: SessionSource, title: string): Promise<SessionId>
  sessionStatus(key: SessionKey): Promise<SessionStatus>
  /** Has the session compressed behind what it works on now; that turn says how it went. `says` is the reply until then. */
  compressSession(
    key: SessionKey,
    source: SessionSource,
    order: { readonly focus: string; readonly says: string },
  ): CommandReply
  /** Facts about the daemon for `/status` and `/version`. */
  gatewayStatus(): GatewayStatus
  /** Answers what waits for an answer in this session, the oldest first (contract §3.9). */
  answerQuestion(key: SessionKey, answer: TypedAnswer): CommandReply
  /** What waits for an answer in this session. */
  pendingQuestion(key: SessionKey): Promise<{ readonly text: string; readonly expiresAt: number } | undefined>
  /** How access was granted, for `/whoami`. */
  accessReason(source: SessionSource): string
}

export interface TypedAnswer {
  /** The canonical words: `approve`, `approve always`, `deny`. */
  readonly words: string
  /** Everything that waits, not only the oldest. */
  readonly all: boolean
  /** For whoever asked; '' without one. */
  readonly reason: string
  readonly by: SessionSource
}

/** A reply that is made in the transaction in which the command ends, with whatever else it stores. */
export interface CommandReply {
  /** Returns the reply, markdown. May be tried again. */
  write(now: number): Transaction<string>
  /** The transaction is on disk. */
  committed(): void
  /** The transaction has failed for good. */
  abandoned(): void
}

export interface SessionStatus {
  readonly sessionId: SessionId | null
  readonly title: string
  readonly startedAt: number | null
  readonly messages: number
  readonly running: boolean
  readonly queued: number
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface GatewayStatus {
  readonly model: string
  readonly provider: string
  readonly uptimeMs: number
  readonly platforms: Readonly<
    Record<string, { readonly state: string; readonly reason?: string; readonly receiving?: boolean }>
  >
  readonly degraded: readonly string[]
  /** What the agent works on without a chat. */
  readonly background: readonly { readonly id: string; readonly by: string; readonly ageMs: number }[]
}

export interface CommandDefinition {
  /** Canonical, lower case. */
  readonly name: string
  readonly aliases: readonly string[]
  readonly description: string
  /** Shown after the name in /help, for example `[name]`. */
  readonly argsHint: string
  /**
   * `control` acts at once, also while a turn runs; `turn` waits its place in the session's lane.
   * All commands of the product so far are `control`.
   */
  readonly queue: 'control' | 'turn'
  /**
   * What it ends, as a sentence that goes on behind its name. People are asked first, where
   * `approvals.destructive_slash_confirm` says so. Without it the command acts at once.
   */
  readonly destructiveEffect?: string
  /** By it people get out of trouble: hooks are told of it afterwards and never asked (contract §1.5). */
  readonly bypassesHooks?: boolean
  /** Returns the reply, markdown; '' replies nothing. May throw: the person gets the reason. */
  run(context: CommandContext, services: CommandServices): Promise<string | CommandReply>
}
