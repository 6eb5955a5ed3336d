/**
 * What all parts of the composition share, from the start of a gateway to its stop.
 */
import type { ModelCallMonitor } from '../agent/models/model-call-monitor.ts'
import type { Config } from '../config/load.ts'
import type { ConfigOf } from '../config/section.ts'
import type { AccountDirectory } from '../flows/access/account-directory.ts'
import type { RunAgentCommand } from '../flows/environments/turn-access.ts'
import type { GatewayPhase } from '../flows/lifecycle/status.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import type { Log } from '../lib/log.ts'
import type { Redactor, SecretRegistry } from '../lib/redact.ts'
import type { Target } from '../message/source.ts'
import type { PlatformCatalogue } from '../platforms/registry.ts'
import type { Supervisor } from '../platforms/supervisor.ts'
import type { Store } from '../store/store.ts'
import type { GatewayShapes } from './config.ts'
import type { GatewayOptions } from './options.ts'

/** The supervisor for the modules that are built before it. No member may be called before it exists. */
export interface ConnectedPlatforms extends Pick<Supervisor, 'health' | 'failAccount'> {
  /** Undefined while the account is not connected. */
  adapter(target: Pick<Target, 'platform' | 'account'>): ReturnType<Supervisor['adapter']>
}

export interface AppContext {
  readonly options: GatewayOptions
  readonly config: Config<GatewayShapes>
  readonly settings: () => ConfigOf<GatewayShapes>
  readonly secrets: SecretRegistry
  /** Takes known secrets, and what looks like one, out of a text. */
  readonly redact: Redactor
  readonly catalogue: PlatformCatalogue
  readonly accountDirectory: AccountDirectory
  readonly platforms: ConnectedPlatforms
  readonly store: Store
  readonly modelCalls: ModelCallMonitor
  /** Opens the sandbox of commands with the first call. Undefined when none is configured. */
  readonly sandbox: AgentServices['sandbox']
  /** Runs a `hermes` command that a command of the agent has called. */
  readonly runAgentCommand: RunAgentCommand
  /**
   * `reason`: why commands have no sandbox; '' when they have one, when none is wanted, and until one was tried. `place`: why the
   * place of `terminal.backend` cannot be used; '' when it can, and until it was tried.
   */
  readonly sandboxReport: { reason: string; place: string }
  /** Files of the system prompt that look like a prompt injection: path and ids of the scan. */
  readonly suspiciousFiles: Map<string, readonly string[]>
  /** Files of the system prompt that cannot be used or are too long, by path: what is wrong, for the owner. */
  readonly promptFileProblems: Map<string, string>
  /** Why the daemon runs degraded; empty when all is well. */
  readonly degraded: () => string[]
  readonly phase: () => GatewayPhase
  /** Messages are accepted. */
  readonly isOpen: () => boolean
  readonly isDraining: () => boolean
  /** The gateway stops, and still stores messages of chats. */
  readonly storesForNextStart: () => boolean
  /** When the start began. */
  readonly startedAt: number
  /** Aborts when the stop begins. */
  readonly stopping: AbortSignal
  readonly clock: () => number
  readonly random: () => number
  readonly log: Log
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint: (point: string) => void
}
