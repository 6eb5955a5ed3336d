/**
 * What a gateway is built from, and what its owner can do with it.
 */

import type { ProcessEnvironment } from '../config/environment.ts'
import type { Config } from '../config/load.ts'
import type { OpenTask } from '../flows/background-tasks.ts'
import type { UnhealthyHook } from '../hooks/hook-status.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Log, LogLevel, LogStream } from '../lib/log.ts'
import type { HookEventListener } from '../message/hook-events.ts'
import type { CallbackTrace, RunAsPlugin } from '../plugins/callback-trace.ts'
import type { PluginFailure, PluginReport } from '../plugins/plugin-report.ts'
import type { GatewayShapes } from './config.ts'

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
    readonly stream?: LogStream
    readonly pretty: boolean
    readonly level?: LogLevel
  }
  /** A configuration that cannot be used ends the start (`config/invalid`) instead of degrading it. */
  readonly strict?: boolean
  /** Runs the programs that `hooks` of the configuration names, although nobody has accepted them. */
  readonly acceptHooks?: boolean
  /** Only these platforms, and any free port: a terminal that talks to a gateway of its own. */
  readonly onlyPlatforms?: readonly string[]
  /** Told of every gateway event. */
  readonly listeners?: readonly HookEventListener[]
  /** Told of each call of a callback of a plugin: for trying one out. */
  readonly onPluginCall?: (firing: CallbackTrace) => void
  /** Runs everything of plugins, so that the owner of the process can tell their faults from ours. */
  readonly runAsPlugin?: RunAsPlugin
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: (point: string) => void
  /** Asked for by an admin request; the owner of the process decides. */
  readonly onShutdownRequest?: () => void
}

export interface Gateway {
  /** Where HTTP listens. */
  readonly url: string
  readonly token: () => string
  readonly config: Config<GatewayShapes>
  readonly log: Log
  /** What `hermes status` shows. */
  status(): GatewayStatusReport
  /** All plugins there are, also those that nobody asked for. */
  plugins(): Promise<readonly PluginReport[]>
  /** Resolves when every first connect has settled. */
  initialConnectsDone(): Promise<void>
  /**
   * Takes nothing new in, gives running turns `agent.drain_timeout` to end, leaves the rest for the next start.
   * Aborting the signal ends the wait for turns. May be called twice.
   */
  stop(hurry?: AbortSignal): Promise<void>
}

export interface DaemonReport {
  readonly name: string
  /** The plugin's id. */
  readonly owner: string
  readonly state: string
  readonly restarts: number
  /** Why it failed last; '' when it never did. */
  readonly reason: string
}

export interface GatewayStatusReport {
  readonly version: string
  readonly pid: number
  readonly home: string
  readonly url: string
  readonly status: 'starting' | 'ready' | 'draining'
  readonly uptimeMs: number
  readonly model: string
  readonly provider: string
  readonly platforms: Readonly<
    Record<string, { readonly state: string; readonly reason?: string; readonly receiving?: boolean }>
  >
  readonly degraded: readonly string[]
  readonly pendingRestart: readonly string[]
  readonly turns: { readonly running: number; readonly waiting: number }
  readonly background: readonly OpenTask[]
  /** Those that do not do what they should. */
  readonly hooks: readonly UnhealthyHook[]
  /** Those that do not do what they should. */
  readonly plugins: readonly PluginFailure[]
  /** Background work of plugins. */
  readonly daemons: readonly DaemonReport[]
}
