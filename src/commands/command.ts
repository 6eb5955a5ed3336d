/**
 * The contract of a slash command: a word handled without the model.
 */
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'

export interface CommandContext {
  readonly source: SessionSource
  readonly sessionKey: SessionKey
  /** The canonical name. */
  readonly name: string
  readonly args: string
  /** What was typed, without the slash. */
  readonly typed: string
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
  /** Facts about the daemon for `/status` and `/version`. */
  gatewayStatus(): GatewayStatus
  /** How access was granted, for `/whoami`. */
  accessReason(source: SessionSource): string
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
  readonly lane: 'control' | 'turn'
  /** Returns the reply, markdown; '' replies nothing. May throw: the person gets the reason. */
  run(context: CommandContext, services: CommandServices): Promise<string>
}
