/**
 * The parts of the gateway that are composed before the agent and that other compositions use.
 */
import type { ModelCallMonitor } from '../agent/models/model-call-monitor.ts'
import type { TurnInfo, TurnInfoFactory } from '../agent/support/agent-hooks.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import type { Engine, Places } from '../engine/engine.ts'
import type { PairingControl } from '../flows/access/pairing-control.ts'
import type { Approvals } from '../flows/approvals/approvals.ts'
import type { BusyArrivals } from '../flows/busy/arrivals.ts'
import type { CommandDecisions } from '../flows/commands/command-decision.ts'
import type { GatewayEvents } from '../flows/events/gateway-events.ts'
import type { PauseControl } from '../flows/lifecycle/pause-control.ts'
import type { SessionServices } from '../flows/sessions/session-services.ts'
import type { BackgroundTasks } from '../flows/tasks/background-tasks.ts'
import type { TurnNotices } from '../flows/turn/turn-notices.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import type { EventResults, Inbox } from '../inbox/inbox.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'
import type { RunningTurns } from '../sessions/running-turns.ts'
import type { PluginRegistries } from './compose-plugin-registries.ts'

export interface Core {
  readonly events: GatewayEvents
  readonly engine: Engine
  /** `cron.max_parallel_jobs`. */
  readonly jobPlaces: Places
  readonly commands: CommandRegistry
  readonly turnResults: EventResults
  readonly runningTurns: RunningTurns
  readonly outbox: Outbox
  readonly hooks: HookRegistry
  readonly commandDecisions: CommandDecisions
  readonly pluginRegistries: PluginRegistries
  readonly approvals: Approvals
  readonly sessionServices: SessionServices
  /** Ends the messages of people who had access by these accounts, and have none now. Rejects `store/…`. */
  endRevoked(before?: readonly PlatformAccount[]): Promise<void>
  /** Ends a message of a person who has no access. Rejects `store/…`. */
  endRevokedMessage(session: SessionKey, seq: number): Promise<void>
  readonly inbox: Inbox
  readonly backgroundTasks: BackgroundTasks
  readonly pause: PauseControl
  readonly pairing: PairingControl
  /** What messages do that arrive while their conversation is busy. */
  busyArrivals(): Promise<BusyArrivals>
  /** What plugins learn about a turn. */
  readonly turnInfoOf: TurnInfoFactory
  readonly turnNotices: TurnNotices
  readonly modelCalls: ModelCallMonitor
  /** Whether the turn of a session waits, so that a crash does not count as its failed attempt. */
  isTurnPaused(key: SessionKey): boolean
  /** Waits within a turn, which does not count as running meanwhile. */
  pauseTurn(turn: Pick<TurnInfo, 'sessionKey'>, ms: number, signal: AbortSignal): Promise<void>
  /** The session of a terminal with an embedded gateway. */
  embeddedSessionKey(): SessionKey | undefined
}
