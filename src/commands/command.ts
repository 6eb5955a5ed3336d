/**
 * The contract of a slash command, which the gateway handles without the model.
 */
import type { Spent } from '../lib/format-cost.ts'
import type { Authority, Role } from '../message/authority.ts'
import type { ToolProgressMode } from '../message/conversation-choices.ts'
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { BusyServices, TypedMessage } from './busy.ts'
import type { CheckpointServices } from './checkpoint.ts'
import type { ConversationServices } from './conversation.ts'
import type { JobServices } from './jobs.ts'
import type { CurrentModel, ModelPlace, ModelServices } from './model.ts'
import type { CommandReply } from './reply.ts'

export type { CommandReply } from './reply.ts'

export interface CommandContext {
  readonly source: SessionSource
  /** Whose command it is. */
  readonly authority: Authority
  readonly sessionKey: SessionKey
  /** The canonical name. */
  readonly name: string
  readonly args: string
  /** The first of them, if they come from an alias of the operator. */
  readonly argsBefore?: string
  /** The typed name, without the slash. */
  readonly rawCommand: string
  /** The message in which it was typed; absent for a command of the agent. */
  readonly message?: TypedMessage
  readonly signal: AbortSignal
}

/** `of-another`: another person's message began the turn, and the requester may not stop it. */
export type StopOutcome = 'stopped' | 'idle' | 'of-another'

/** The services that a command may use; the composition root provides them. */
export interface CommandServices {
  readonly version: string
  commands(): readonly CommandDefinition[]
  /** The skills that can be called by their names. Reads them. */
  skillCommands(): Promise<readonly Pick<CommandDefinition, 'name' | 'aliases' | 'description' | 'argsHint'>[]>
  /**
   * Stops the running turn of a session. Resolves when it has ended, or after five seconds. A guest stops only turns that
   * their own message began, where several people share the conversation.
   */
  stopTurn(key: SessionKey, by: Pick<CommandContext, 'source' | 'authority'>): Promise<StopOutcome>
  /** Stops the running turn and starts a new session under the same key, in which queued messages are handled. */
  resetSession(key: SessionKey, source: SessionSource, title: string): Promise<SessionId>
  sessionStatus(key: SessionKey): Promise<SessionStatus>
  /** The chats for messages that belong to no other chat. Rejects `store/…`. */
  homeChannels(): Promise<readonly { readonly target: Target; readonly name?: string }[]>
  /** One line for each provider: how many keys it has, and which rest. Without secrets. */
  modelKeys(): Promise<readonly string[]>
  /** Loads what the commands for conversations need. */
  conversations(): Promise<ConversationServices>
  /** What people have chosen for this conversation. */
  settings(key: SessionKey): Promise<Readonly<Partial<Record<string, string>>>>
  /** Loads what `/rollback` needs. */
  checkpoints(): Promise<CheckpointServices>
  /** Loads what the commands for background tasks need. */
  tasks(): Promise<TaskServices>
  /** Loads scheduled jobs. */
  jobs(): Promise<JobServices>
  /** Stores a choice; null removes it. */
  changeSetting(key: SessionKey, name: ConversationChoice, value: string | null): Promise<void>
  /** What the configuration offers. */
  choices(): ConfiguredChoices
  /** What a conversation shows of a turn, with what people have chosen for it. */
  display(source: SessionSource, chosen: Readonly<Partial<Record<string, string>>>): ConversationDisplay
  /** Who hears and speaks in a chat. */
  voices(source: SessionSource): Promise<Voices>
  /** How this gateway was installed. */
  installation(): Promise<Installation>
  /** Runs the shell command of a quick command. `/stop` ends it. Resolves with the reply. */
  runQuickCommand(command: string, context: CommandContext): Promise<string>
  /** Takes known secrets, and what looks like one, out of a text. */
  redact(text: string): string
  /** Takes known secrets out of a text, as replies do. A command that shortens or rewrites a text does this first. */
  withhold(text: string): string
  /** Queues a compression of the session; its turn reports the result. `says` is the reply until then. */
  compressSession(
    key: SessionKey,
    source: SessionSource,
    order: { readonly focus: string; readonly says: string },
  ): CommandReply
  /** Loads what the commands for messages during a turn need. */
  busyModes(): Promise<BusyServices>
  /** Loads what `/model` needs. */
  models(): Promise<ModelServices>
  /** The model that answers in a conversation. */
  modelOf(place: ModelPlace): Promise<Pick<CurrentModel, 'model' | 'provider' | 'contextLength'>>
  /** The state of the daemon for `/status`. */
  gatewayStatus(): GatewayStatus
  /** Answers the oldest pending question of the session, or all (contract §3.9). */
  answerQuestion(key: SessionKey, answer: TypedAnswer): CommandReply
  /** The pending question of the session. */
  pendingQuestion(key: SessionKey): Promise<{ readonly text: string; readonly expiresAt: number } | undefined>
  /** Switches `/yolo` of a conversation on or off, and begins it if it has not begun. Returns whether it is on now. */
  toggleYolo(key: SessionKey, by: SessionSource): Promise<boolean>
  /** Whether commands of owners run without approval in this session. */
  isYolo(sessionId: SessionId): Promise<boolean>
  /** Why the user has access, for `/whoami`. */
  accessReason(source: SessionSource): string
  /** What this person may do, for `/whoami`. */
  permissionsOf(authority: Authority, source: SessionSource): Promise<Permissions>
  /** Loads what owners do to the gateway. */
  gatewayAdmin(): Promise<GatewayAdmin>
  /** Stops all MCP servers and asks each one for its tools. Rejects with the reason of the signal. */
  reloadMcp(signal: AbortSignal): Promise<readonly McpServerState[]>
  /** Pauses the agent. Rejects when the pause cannot be stored; it is in effect until a restart. */
  pauseAgent(reason: string): Promise<void>
  /** False if the agent was not paused. */
  resumeAgent(): Promise<boolean>
}

/** An MCP server after it was asked for its tools. */
export interface McpServerState {
  readonly server: string
  readonly tools: number
  /** Why it cannot be used; '' if it can. */
  readonly problem: string
}

/** Whose command it is. */
type Requester = Pick<CommandContext, 'source' | 'authority' | 'message'>

export interface TaskServices {
  /** Resolves once the task is on disk. Rejects as the inbox. */
  start(
    by: Requester,
    prompt: string,
  ): Promise<
    { readonly status: 'started'; readonly id: string } | { readonly status: 'too-many'; readonly limit: number }
  >
  /** The tasks and sub-agents that have not ended: one's own; for an owner in a private chat all. */
  list(by: Requester): readonly RequestedTask[]
  /** False for a task that has ended, and for one of another person unless an owner stops it. */
  stop(by: Requester, id: string): Promise<boolean>
}

export interface RequestedTask {
  /** `bg_…`, or `sub_…` for a sub-agent that its parent waits for. */
  readonly id: string
  /** Of the person or hook that requested it. */
  readonly by: string
  readonly requesterId: string
  readonly ageMs: number
  readonly prompt: string
  /** Present for a sub-agent. */
  readonly subagent?: {
    readonly depth: number
    /** Of its model calls and those of its sub-agents, so far. */
    readonly tokens: number
    /** The tool that runs now. */
    readonly tool?: string
  }
}

export type ConversationChoice =
  | 'reasoning_effort'
  | 'show_reasoning'
  | 'personality'
  | 'tool_progress'
  | 'footer'
  | 'voice'

export interface ConfiguredChoices {
  /** Of `personalities`. */
  readonly personalities: readonly { readonly name: string; readonly description: string }[]
  /** The configured one, or a file of the home. */
  readonly personality: string
  readonly reasoningEffort: string | undefined
  /** Whether the provider may tell what the model thought. */
  readonly givesThinking: boolean
}

export interface ConversationDisplay {
  /** Whether messages and lines about a turn are shown. Pages and terminals show the turn themselves. */
  readonly showsProgress: boolean
  readonly toolProgress: ToolProgressMode
  /** `display.tool_progress_command` */
  readonly permitsVerbose: boolean
  /** Whether what the model thought is shown above its answer. */
  readonly showsThinking: boolean
  readonly hasFooter: boolean
}

export interface Voices {
  /** `voice.auto_tts` */
  readonly isDefault: boolean
  /** Why voice messages are not transcribed, in a few words; '' if they are. */
  readonly listens: string
  /** Why answers are not spoken; '' if they can be. */
  readonly speaks: string
  /** Whether the platform takes files now. */
  readonly sendsVoices: boolean
}

export interface Installation {
  readonly kind: 'container' | 'checkout' | 'copy'
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
  setHome(source: SessionSource): CommandReply
  /** The home channel of the configuration counts again. */
  clearHome(source: SessionSource): CommandReply
  /** Restarts the gateway after the reply is stored. `sentAt`: when the command was sent, ms. */
  restart(source: SessionSource, sentAt: number | undefined): CommandReply
}

export interface Permissions {
  readonly role: Role
  /** The tool list of the configuration: names, toolsets, `*`, `-name`. */
  readonly tools: readonly string[]
  /** Names, or `*`. */
  readonly commands: readonly string[]
}

export interface TypedAnswer {
  /** The canonical answer: `approve`, `approve always`, `deny`. */
  readonly words: string
  /** Answers all pending questions, not only the oldest. */
  readonly all: boolean
  /** The reason that the requester receives; '' for none. */
  readonly reason: string
  readonly by: SessionSource
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
  readonly spent: Spent
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

export interface CommandDefinition {
  /** Canonical, lower case. */
  readonly name: string
  readonly aliases: readonly string[]
  readonly description: string
  /** Shown after the name in /help, for example `[name]`. */
  readonly argsHint: string
  /** The only arguments that it takes, for menus; at most 25. Absent when it takes any text. */
  readonly choices?: readonly string[]
  /** It changes the conversation for everybody in it: in one that several people share, guests may not use it. */
  readonly changesForAll?: boolean
  /** Arguments before those that are typed, of an alias of the operator. */
  readonly argsBefore?: string
  /**
   * `control` runs at once, also during a turn; `turn` waits in the queue of the session.
   * All built-in commands are `control`.
   */
  readonly queue: 'control' | 'turn'
  /**
   * The destructive effect, as a sentence that continues the command name. The user must confirm it first when
   * `approvals.destructive_slash_confirm` is set. Without it the command runs at once.
   */
  readonly destructiveEffect?: string
  /** The setting that decides about the confirmation, if it is another one. */
  readonly confirmedBy?: 'mcp_reload_confirm'
  /** Whom the command is for; without it, for everybody. */
  readonly minimumRole?: 'owner'
  /** A recovery command: hooks are notified after it and cannot block it (contract §1.5). */
  readonly bypassesHooks?: boolean
  /** Answers an open question. Without one it waits for the commands before it, which may ask. */
  readonly answersQuestion?: boolean
  /** Returns the reply as markdown; '' sends no reply. May throw: the user receives the reason. */
  run(context: CommandContext, services: CommandServices): Promise<string | CommandReply>
}
