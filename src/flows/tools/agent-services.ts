/**
 * What turns, commands and plugins need of the agent: the configured models, the tools and the environment of a session.
 */
import type { Checkpoints } from '../../agent/checkpoints/checkpoints.ts'
import type { CommandPolicy } from '../../agent/command-policy/policy.ts'
import type { AgentConfig } from '../../agent/config.ts'
import type { Environment } from '../../agent/environments/environment.ts'
import type { EnvironmentKind } from '../../agent/environments/kind.ts'
import type { AgentTools } from '../../agent/loop/agent-tools.ts'
import type { SubagentWorkspace } from '../../agent/loop/agent-turn.ts'
import type { EphemeralPrompt } from '../../agent/models/ephemeral-prompt.ts'
import type { Provider } from '../../agent/models/provider.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import type { Skills } from '../../agent/skills/skills.ts'
import type { TurnInfoFactory } from '../../agent/support/agent-hooks.ts'
import type { ToolServices } from '../../agent/tools/built-in-tools.ts'
import type { LoadedTools } from '../../agent/tools/registry.ts'
import type { CallingTurn, ToolContext, ToolDefinition } from '../../agent/tools/tool.ts'
import type { ApprovalsConfig } from '../../approvals/config.ts'
import type { CronConfig } from '../../cron/config.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { MediaConfig } from '../../media/config.ts'
import type { Authority } from '../../message/authority.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ToolCall } from '../../message/transcript.ts'
import type { AccountPolicy } from '../../platforms/accounts.ts'
import type { RoleSettings } from '../../platforms/config.ts'
import type { PluginToolEntry } from '../../plugins/plugin-tools.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { Store } from '../../store/store.ts'
import type { WebConfig } from '../../web/config.ts'
import type { EnvironmentKinds, RemoteEnvironments } from '../environments/remote-environments.ts'
import type { CallingTurns } from '../environments/sandbox-sockets.ts'
import type { AgentModels, AgentModelsDeps } from '../models/agent-models.ts'
import type { MediaServices } from '../models/media-services.ts'
import type { ResultFiles } from './result-files.ts'

/** What the agent needs of the gateway. */
export interface AgentServicesDeps extends AgentModelsDeps {
  readonly home: HomeLayout
  readonly settings: () => AgentConfig &
    ApprovalsConfig &
    MediaConfig &
    WebConfig &
    CronConfig & { readonly roles: RoleSettings }
  /** The command line that runs this program, for the `hermes` that commands of the agent find. */
  readonly commandLine: readonly string[]
  /** Variables that no command may see, whatever the configuration says. */
  readonly withheld: readonly string[]
  /** Tools of plugins, in the order in which they were registered. */
  pluginTools(): readonly PluginToolEntry[]
  /** Tools of MCP servers. Absent where there are none. Never rejects. */
  mcpTools?(): Promise<readonly ToolDefinition[]>
  /** Loads the skills. Absent where there are none. */
  skills?(): Promise<Skills>
  /** What single tools need of the gateway. */
  readonly toolServices?: Partial<ToolServices>
  /** The kinds of environments that plugins have registered. Absent: none. */
  pluginEnvironments?(name: string): EnvironmentKind | undefined
  readonly environmentKinds: EnvironmentKinds
  /** Has the files, the pictures and the earlier messages of conversations. */
  readonly store: Pick<Store, 'run'>
  /** For calls of models that a tool makes. Without it, plugins do not see them. */
  readonly turnInfoOf?: TurnInfoFactory
  /** Messages about background commands. Absent: none come. */
  readonly commandReports?: CommandReportAccess | undefined
  /** Results that were too long for the model. Absent: none are stored. */
  readonly resultFiles?: Pick<ResultFiles, 'shorten' | 'of'>
  /** A sandbox was opened. Undefined: none is configured, or the next one is not open yet. */
  onSandbox(sandbox: Sandbox | undefined): void
  /** A turn starts although no sandbox works. Rejects `store/...`. */
  announceMissingSandbox(turn: ToolTurn): Promise<void>
  /** Tells the people of a turn what its command waits for. Rejects `store/...`. */
  announceEnvironment?(turn: TurnElsewhere, text: string): Promise<void>
  /** The toolset that a platform declares, by its name. */
  readonly platformToolsets: ReadonlyMap<string, string>
  /** Servers that belong to single conversations. Absent: there are none. */
  readonly sessionServers?: { readonly opened?: { tools(key: SessionKey): Promise<LoadedTools | undefined> } }
  /** Several people write in the session of this source. */
  isShared(source: SessionSource): boolean
  /** Absent: there are no texts for chats. */
  policyOf?(source: SessionSource): Pick<AccountPolicy, 'channelPrompts' | 'models'>
  /** Takes the gateway's own secrets out of the results of tools. */
  redact(text: string): string
  /** For the `hermes` of commands in the sandbox. Without it, it refuses everything. */
  readonly turnAccess?: CallingTurns
}

/** What turns, commands and plugins need of the agent, in five parts. */
export interface AgentServices {
  readonly models: AgentModels
  readonly tools: ToolOffers
  readonly environments: AgentEnvironments
  readonly prompt: EphemeralTexts
  /** The services that transcribe, speak and draw. Loaded with the first call. */
  media(): Promise<MediaServices>
  /** The configuration has changed: the next turn reads it. */
  reconfigured(): void
  close(): Promise<void>
}

/** The tools of turns. */
export interface ToolOffers {
  /**
   * A session keeps the tool list with which it started; each call checks whether the tool still exists, and whether the role
   * of the person who caused the turn may use it.
   */
  forTurn(turn: ToolTurn): Promise<AgentTools>
  /** The toolsets of which a session with these tools has one. */
  toolsetsOf(names: readonly string[]): Promise<ReadonlySet<string>>
  /** The names of the tools that the session is offered, before the role of a person takes any away. */
  namesForSession(turn: ToolTurn): Promise<readonly string[]>
  /** The tools that the configuration permits to this person in this chat: names, toolsets, modes, `*`, `-name`. */
  toolListOf(authority: Authority): readonly string[]
  toolContext(turn: CallingTurn, call: ToolCall, signal: AbortSignal): ToolContext
  /** A separate terminal and todo list for the tools of a sub-agent of this turn. */
  openSubagentWorkspace(sessionId: string, turnId: string, turn: CallingTurn): SubagentWorkspace
  /** Plugins or MCP servers have other tools: new sessions get them. */
  changed(): void
}

/** Where commands run and files are. */
export interface AgentEnvironments {
  cwd(): string
  /** Opens the sandbox with the first call. Undefined when none is configured. `workspace`: a folder in place of `cwd`. */
  sandbox(workspace?: string): Promise<Sandbox | undefined>
  /** Opens the proxy for programs in a sandbox that reach listed hosts only. Rejects with a system error. */
  openProxy(directory: string): Promise<void>
  /** A shell outside of sessions, for a command of the operator. Rejects where commands do not run on this machine. */
  openShell(): Promise<{ readonly commandPolicy: CommandPolicy; readonly environment: Environment }>
  /** The files of folders before changes. Loaded with the first call. */
  checkpoints(): Promise<Checkpoints>
  /** Reports the background commands of the last process as lost. Rejects `store/...`. */
  reportLostCommands(): Promise<void>
  /** Whether a command of the session runs in the background. */
  hasRunningCommand(sessionId: string): boolean
  /** The terminal and the commands of a session go on in the session that continues it. */
  renameSession(from: string, to: string): void
  /** Finds or removes what an earlier process has left in the environment in which commands run. Never rejects. */
  recover(): Promise<void>
  /** The configured environment, if that is not this machine. Undefined if it is not offered. */
  openRemote(): Promise<RemoteEnvironments | undefined>
}

/** Text that is added to requests and stored nowhere. */
export interface EphemeralTexts {
  /** The provider as the requests of this turn are sent: with such text, if some is configured. */
  senderOf(turn: Pick<Turn, 'event'>, provider: Provider): Promise<Provider>
  /** The text that is added to each request at this source. Undefined if there is none. */
  at(source: SessionSource): Promise<EphemeralPrompt | undefined>
  /** Why a configured file is not used; '' if it is, or if it was not read yet. */
  problem(): string
}

export type TurnElsewhere = Pick<Turn, 'id' | 'event'>

/** Messages about background commands. Their code is loaded with the first of them. */
export interface CommandReportAccess {
  /** Reports the commands of the last process as lost. Rejects `store/...`. */
  reportLost(): Promise<void>
  close(): void
}

/** A turn, or what a plugin does outside of turns. */
export interface ToolTurn {
  readonly sessionId: string
  readonly sessionKey?: SessionKey
  readonly authority: Authority
  readonly event?: MessageEvent
  /** Stored with the session. */
  readonly toolNames?: readonly string[] | undefined
}
