/**
 * Interfaces of the runtime for plugins in Python (seeds 000, 001, 003).
 *
 * Each plugin has its own process. Loading the plugin imports its package and calls `register(ctx)`. Each `ctx.register_*`
 * sends a request; the gateway then registers a proxy that calls the callback in the process.
 */
import type { Host, HostCall, HostOptions } from '../../hosts/contract.ts'
import type { ExecutionOptions } from '../../middleware/contract.ts'
import type { PluginContext } from '../contract.ts'
import type { DiscoveredPlugin } from '../discovery.ts'
import type { AnyCallback } from '../hooks/callback.ts'
import type { PluginProcess } from '../load-plugin.ts'

export interface PythonPluginsDeps {
  createHost(options: HostOptions): Host
  /** The environment and the program of the process of a plugin. */
  launchOptionsOf(plugin: DiscoveredPlugin): {
    readonly env: Readonly<Record<string, string>>
    readonly command: string
  }
  /** The working directory of processes: `$HERMES_HOME`. */
  readonly home: string
  /** `plugins.hook_callback_timeout`, ms; 0 for none. */
  hookTimeoutMs(): number
  /** ms */
  readonly clock: () => number
  /** Between 0 and 1. */
  readonly random: () => number
  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Overrides the limits of plugins, for tests. */
  readonly limits?: HostOptions['limits']
}

export interface PythonPlugins {
  /**
   * Starts a process for the plugin and calls its `register`, whose requests wait for the turn of the plugin. Rejects with `plugins/unloadable`, or with the error of a
   * registration; by then the process has ended.
   */
  load(plugin: DiscoveredPlugin, context: PluginContext, turn: Promise<void>): Promise<PluginProcess>
}

/** One call of a callback; `args` are empty by default. */
export type PythonCall = Partial<Omit<HostCall, 'module' | 'function'>>

/** The process of one plugin, which may be restarted. */
export interface PythonProcess extends PluginProcess {
  /** Starts the first process. Rejects as `PythonPlugins.load`. */
  open(): Promise<void>
  /**
   * Calls a callback by its full name. Rejects with the exception (`PythonError`, or the same error object if the
   * callback did not catch an error of the gateway), with the reason of the signal, or with the failure of the process.
   */
  call(callback: string, call: PythonCall): Promise<unknown>
  isRunning(): boolean
  /** If the environment is another one now, the next call starts a new process with it, and running calls end. Returns whether it is. */
  renew(): boolean
  /** Tasks to run in each restarted process, such as the startup of daemons. With such tasks the process is restarted after an exit. */
  readonly restartTasks: Set<() => Promise<unknown>>
  /** Adds a warning to the reports of the plugin. */
  addWarning(sentence: string): void
}

/** The context for names that are known only at run time. */
export interface NamedRegistrar {
  registerHook(name: string, callback: AnyCallback): { readonly name: string; remove(): boolean }
  registerMiddleware(
    kind: string,
    callback: AnyCallback,
    options?: ExecutionOptions,
  ): { readonly name: string; remove(): boolean }
}
