/**
 * What the commands about the gateway as a whole need of it.
 */

import type { Authority, Role } from '../message/authority.ts'
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { TransactionPart } from '../store/query.ts'
import type { CommandDescription } from './command.ts'
import type { CurrentModel, ModelConversation } from './model.ts'
import type { SessionStatus } from './session.ts'

/** A command as lists of commands show it. */
export type ListedCommand = Pick<CommandDescription, 'name' | 'aliases' | 'description' | 'argsHint'>

/** For `/help` and `/commands`. */
export interface CommandList {
  commands(): readonly ListedCommand[]
  /** The skills that can be called by their names. Reads them. */
  skills(): Promise<readonly ListedCommand[]>
}

/** For `/start` and `/status`: the model that answers in a conversation. */
export interface ModelNames {
  modelOf(conversation: ModelConversation): Promise<Pick<CurrentModel, 'model' | 'provider'>>
}

/** For `/status`. */
export interface StatusReport extends ModelNames {
  session(key: SessionKey): Promise<SessionStatus>
  gateway(): GatewayStatus
  /** The pending question of the session, without known secrets. */
  pendingQuestion(key: SessionKey): Promise<string | undefined>
  /** Whether commands of owners run without approval in this session. */
  isYolo(sessionId: SessionId): Promise<boolean>
  /** The chats for messages that belong to no other chat. Rejects `store/…`. */
  homeChannels(): Promise<readonly { readonly target: Target; readonly name?: string | undefined }[]>
  /** One line for each provider: how many keys it has, and which rest. Without secrets. */
  modelKeys(): Promise<readonly string[]>
}

export interface GatewayStatus {
  readonly model: string
  readonly provider: string
  readonly uptimeMs: number
  readonly platforms: Readonly<
    Record<string, { readonly state: string; readonly reason?: string; readonly receiving?: boolean }>
  >
  readonly degraded: readonly string[]
  /** Background tasks of the agent. */
  readonly background: readonly { readonly id: string; readonly by: string; readonly ageMs: number }[]
}

/** For `/whoami`. */
export interface Access {
  /** Why the user has access. */
  reason(source: SessionSource): string
  /** What this person may do. */
  permissions(authority: Authority, source: SessionSource): Permissions
}

export interface Permissions {
  readonly role: Role
  /** The tool list of the configuration: names, toolsets, `*`, `-name`. */
  readonly tools: readonly string[]
  /** Names, or `*`. */
  readonly commands: readonly string[]
}

/** For `/update` and `/debug`. */
export interface InstallationReport {
  readonly version: string
  readonly installation: Installation
  gateway(): GatewayStatus
  /** Takes known secrets, and what looks like one, out of a text. */
  redact(text: string): string
}

export interface Installation {
  /** `package`: npm installed it. */
  readonly kind: 'container' | 'checkout' | 'package' | 'copy'
  /** The folder of the installation. */
  readonly root: string
  /** The version of Node. */
  readonly node: string
  /** Operating system, its version and the processor. */
  readonly machine: string
  readonly logFile: string
}

/** What owners do to the gateway with a command. */
export interface GatewayAdmin {
  /** Makes the chat the home channel of its account. */
  setHome(source: SessionSource): TransactionPart<string>
  /** The home channel of the configuration counts again. */
  clearHome(source: SessionSource): TransactionPart<string>
  /** Restarts the gateway after the reply is stored. `sentAt`: when the command was sent, ms. */
  restart(source: SessionSource, sentAt: number | undefined): TransactionPart<string>
}

/** For `/reload-mcp`. */
export interface McpControl {
  /** Stops all MCP servers and asks each one for its tools. Rejects with the reason of the signal. */
  reload(signal: AbortSignal): Promise<readonly McpServerState[]>
  redact(text: string): string
}

/** An MCP server after it was asked for its tools. */
export interface McpServerState {
  readonly server: string
  readonly tools: number
  /** Why it cannot be used; '' if it can. */
  readonly problem: string
}

/** For `/pause`. */
export interface AgentPause {
  /** Pauses the agent. Rejects when the pause cannot be stored; it is in effect until a restart. */
  pause(reason: string): Promise<void>
  /** False if the agent was not paused. */
  resume(): Promise<boolean>
}
