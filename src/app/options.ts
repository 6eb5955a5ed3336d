/**
 * The options of a gateway, and its interface for the owner of the process.
 */

import type { ProcessEnvironment } from '../config/environment.ts'
import type { Config } from '../config/load.ts'
import type { GatewayStatusReport } from '../flows/lifecycle/status.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { LogLevel } from '../lib/log-files.ts'
import type { Log, LogStream } from '../lib/log-writer.ts'
import type { HookEventListener } from '../message/hook-events.ts'
import type { CallbackTrace, RunAsPlugin } from '../plugins/callback-trace.ts'
import type { PluginReport } from '../plugins/plugin-report.ts'
import type { GatewayShapes } from './config.ts'

export type { GatewayStatusReport } from '../flows/lifecycle/status.ts'

export interface GatewayOptions {
  readonly home: HomeLayout
  readonly version: string
  /** The environment of the process; the gateway reads no other. */
  readonly environment: ProcessEnvironment
  /** Folders of platform folders, the shipped ones first. */
  readonly platformDirectories: readonly string[]
  /** The command line that runs this program, for the `hermes` that commands of the agent find. */
  readonly commandLine: readonly string[]
  readonly log: {
    readonly stream?: LogStream | undefined
    readonly pretty: boolean
    readonly level?: LogLevel
  }
  /** An invalid configuration fails the start (`config/invalid`) instead of degrading the gateway. */
  readonly strict?: boolean
  /** Runs the programs that `hooks` of the configuration names without consent. */
  readonly acceptHooks?: boolean
  /** Only these platforms, and any free port: for a terminal with an embedded gateway. */
  readonly onlyPlatforms?: readonly string[]
  /** Receive every gateway event. */
  readonly listeners?: readonly HookEventListener[]
  /** Receives each call of a plugin callback: for testing a plugin. */
  readonly onPluginCall?: (firing: CallbackTrace) => void
  /** Runs all code of plugins, so that the owner of the process can distinguish their errors from the gateway's. */
  readonly runAsPlugin?: RunAsPlugin
  /** ms since 1970; for tests of long durations. Default: the clock of the system. */
  readonly clock?: () => number
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: (point: string) => void
  /** An admin request asks for a shutdown; the owner of the process decides. */
  readonly onShutdownRequest?: () => void
  /** An owner asks for a restart, which is stored. The owner of the process stops the gateway and starts it again. */
  readonly onRestartRequest?: () => void
}

export interface Gateway {
  /** Where HTTP listens. */
  readonly url: string
  readonly token: () => string
  readonly config: Config<GatewayShapes>
  readonly log: Log
  /** The report of `hermes status`. */
  status(): GatewayStatusReport
  /** All installed plugins, including disabled ones. */
  plugins(): Promise<readonly PluginReport[]>
  /** Resolves when the enabled plugins are loaded or have failed, or when the gateway stops. */
  pluginsLoaded(): Promise<void>
  /** Resolves when every first connection attempt has ended. */
  initialConnectsDone(): Promise<void>
  /**
   * Accepts no new message, gives running turns `agent.drain_timeout` to end, leaves the rest for the next start.
   * Aborting `force` ends the wait for turns. May be called twice.
   * @param isRestart turns have `agent.restart_drain_timeout`
   */
  stop(force?: AbortSignal, isRestart?: boolean): Promise<void>
  /** Stores that a restart follows and tells the home channels. Rejects `store/…`. */
  announceRestart(): Promise<void>
}
