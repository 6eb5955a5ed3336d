/**
 * What runs a plugin in Python needs and offers (issue: plugins written in Python run unchanged; seeds 000, 001, 003).
 *
 * Each plugin has a process of its own. Loading it imports the package and calls `register(ctx)`; each `ctx.register_*` is
 * a request, upon which a stand-in is registered here that calls the callback over there.
 */
import type { Host, HostCall, HostOptions } from '../../hosts/contract.ts'
import type { PluginContext } from '../contract.ts'
import type { DiscoveredPlugin } from '../discovery.ts'
import type { AnyCallback } from '../hooks/callback.ts'
import type { PluginProcess } from '../loader.ts'

export interface PythonPluginsDeps {
  createHost(options: HostOptions): Host
  /** What a process of this plugin sees of the environment, and the program that runs it. */
  launchOptionsOf(plugin: DiscoveredPlugin): {
    readonly env: Readonly<Record<string, string>>
    readonly command: string
  }
  /** The folder processes run in: the home of the gateway. */
  readonly home: string
  /** `plugins.hook_callback_timeout`, ms; 0 for none. */
  hookTimeoutMs(): number
  /** ms */
  readonly clock: () => number
  /** Between 0 and 1. */
  readonly random: () => number
  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** For tests; what is left out is as it is for plugins. */
  readonly limits?: HostOptions['limits']
}

export interface PythonPlugins {
  /**
   * Starts a process for the plugin and registers what its `register` registers. Rejects `plugins/unloadable`, or with
   * what the gateway refused; then its process is gone.
   */
  load(plugin: DiscoveredPlugin, context: PluginContext): Promise<PluginProcess>
}

/** One call of a callback; `args` are empty if left out. */
export type PythonCall = Partial<Omit<HostCall, 'module' | 'function'>>

/** The process of one plugin, over all its lives. */
export interface PythonProcess extends PluginProcess {
  /** Starts the first one. Rejects as `PythonPlugins.load`. */
  open(): Promise<void>
  /**
   * Calls a callback by its full name. Rejects with what it raised (`PythonError`, or the very error of ours that it let
   * through), with the signal's reason, or with what happened to its process.
   */
  call(callback: string, call: PythonCall): Promise<unknown>
  isRunning(): boolean
  /** Work to do again in each later process, as daemons must be started. While there is any, a process that ended is started again. */
  readonly restartTasks: Set<() => Promise<unknown>>
  /** Something to be said of it in reports. */
  addWarning(sentence: string): void
}

/** The context with names that are known only when the plugin runs. */
export interface NamedRegistrar {
  registerHook(name: string, callback: AnyCallback): { readonly name: string; remove(): boolean }
  registerMiddleware(kind: string, callback: AnyCallback): { readonly name: string; remove(): boolean }
}
