/**
 * The parts of the gateway that have state and that routes of the JSON API use.
 */
import type { AgentConfig } from '../agent/config.ts'
import type { McpConfig } from '../agent/mcp/config.ts'
import type { Skills } from '../agent/skills/skills.ts'
import type { QuestionsDeps } from '../approvals/contract.ts'
import type { AnyConfig } from '../config/effective-values.ts'
import type { Engine } from '../engine/engine.ts'
import type { AccountDirectory } from '../flows/access/account-directory.ts'
import type { PairingAdmin } from '../flows/access/pairing-admin.ts'
import type { ChangedJobs, JobAction } from '../flows/cron/job-actions.ts'
import type { DeliveryConfig } from '../flows/delivery/config.ts'
import type { ChangeFeed } from '../flows/events/change-feed.ts'
import type { EventFeed } from '../flows/events/event-feed.ts'
import type { GatewayStatusReport } from '../flows/lifecycle/status.ts'
import type { McpAccess } from '../flows/mcp/mcp-access.ts'
import type { SessionServerConfig } from '../flows/mcp/session-servers.ts'
import type { AgentModels } from '../flows/models/agent-models.ts'
import type { PlatformSettings } from '../flows/platform/connect-platform.ts'
import type { FileServices } from '../flows/platform/platform-files.ts'
import type { PluginManager } from '../flows/plugins/plugin-manager.ts'
import type { PromptPreview } from '../flows/prompt/prompt-preview.ts'
import type { SessionServices } from '../flows/sessions/session-services.ts'
import type { AgentEnvironments } from '../flows/tools/agent-services.ts'
import type { KnownTool } from '../flows/tools/known-tools.ts'
import type { ToolsetSettings } from '../flows/tools/list-toolsets.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import type { Redactor } from '../lib/redact.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Target } from '../message/source.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { PlatformAdapter } from '../platforms/adapter.ts'
import type { PlatformMenu } from '../platforms/context.ts'
import type { Runtime } from '../store/runtime.ts'
import type { ReaderThread } from '../store/sqlite/reader-thread.ts'

export interface ApiServices extends Pick<Runtime, 'store' | 'home' | 'clock' | 'log'> {
  /** Takes secrets out of errors of handlers and plugins. */
  readonly redact: Redactor
  readonly settings: () => ApiSettings
  /** config.yaml and the environment. */
  readonly config: AnyConfig
  readonly lifecycle: GatewayControl
  readonly agent: AgentOfApi
  readonly accountDirectory: AccountDirectory
  readonly platforms: {
    /** Undefined while the account is not connected. */
    adapter(of: Pick<Target, 'platform' | 'account'>): PlatformAdapter | undefined
  }
  readonly platformSettings: PlatformSettings & ToolsetSettings
  readonly engine: Engine
  readonly outbox: Outbox
  readonly hooks: HookRegistry
  readonly plugins: PluginManager
  readonly sessions: SessionServices
  /** What the buttons and the commands of chats answer with. */
  readonly questions: QuestionsDeps
  /** The slash commands for users. */
  readonly menu: PlatformMenu
  readonly opened: OpenedServices
}

/** The settings that routes read. */
export interface ApiSettings extends DeliveryConfig {
  readonly command_allowlist: readonly string[]
  readonly context_length: number
  readonly terminal: { readonly backend: string }
  readonly media: { readonly max_mb: number }
}

/** The start, the pause and the stop of the gateway. */
export interface GatewayControl {
  /** The report of `hermes status`. */
  status(): GatewayStatusReport
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal
  pause(reason: string): Promise<void>
  /** False if there was no pause. */
  resume(): Promise<boolean>
  /** Announces and starts a restart. Rejects `http/bad-request` where there is no daemon, or `store/…`. */
  restart(): Promise<void>
  /** Starts the stop of the daemon. */
  shutdown(): void
  /** Applies changes of config.yaml at once. */
  reloadConfig(): unknown
  /** The OpenAPI document. @param url of the gateway, as the client has reached it */
  openApi(url: string): Promise<unknown>
}

/** What the agent is given. */
export interface AgentOfApi {
  /** The built-in tools and those of the loaded plugins, whatever the configuration says. */
  knownTools(): Promise<readonly KnownTool[]>
  /** The configured model, and the stored keys. */
  readonly models: Pick<AgentModels, 'selection' | 'withKey' | 'describe' | 'conversationModel'>
  /** The prompt of a new conversation. Rejects `http/not-found` for a platform that does not exist. */
  previewPrompt(platform: string): Promise<PromptPreview>
  settings(): McpConfig & Pick<AgentConfig, 'memory' | 'terminal'>
  /** Loads the skills. */
  skills(): Promise<Skills>
  /** Stops all MCP servers and asks each one again. */
  readonly mcp: Pick<McpAccess, 'reload'>
  readonly environments: Pick<AgentEnvironments, 'cwd' | 'sandbox'>
  /** Replaces the MCP servers of a conversation. `directory`: where they start. */
  setSessionServers(key: SessionKey, servers: SessionServerConfig, directory: string | undefined): Promise<void>
}

/** Services that are opened when they are first needed. */
export interface OpenedServices {
  changes(): Promise<ChangeFeed>
  /** Lists or changes jobs. Rejects `http/bad-request` and `store/...`. */
  changeJobs(action: JobAction): Promise<ChangedJobs>
  events(): Promise<EventFeed>
  files(): Promise<FileServices>
  pairing(): Promise<PairingAdmin>
  /** Runs `handlers/reader-thread.ts`. */
  reader(): ReaderThread
}
