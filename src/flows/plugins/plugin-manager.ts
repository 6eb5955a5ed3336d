/**
 * Loads, reconfigures and stops plugins. While the configuration names no plugin, no plugin code is loaded and no
 * directory is read.
 */

import type { EnvironmentKind } from '../../agent/environments/kind.ts'
import type { Environment } from '../../config/environment.ts'
import { lazy } from '../../lib/cache.ts'
import { raceAbort, withTimeout } from '../../lib/timers.ts'
import type { Middleware } from '../../middleware/managed-call.ts'
import type { PluginsConfig } from '../../plugins/config.ts'
import type { Daemons } from '../../plugins/daemons/daemons.ts'
import { hasEnabledPlugins } from '../../plugins/desired-state.ts'
import type { DiscoveredPlugin, PluginRoot } from '../../plugins/discovery.ts'
import type { GatewayHooks, LoadingPlugins } from '../../plugins/gateway-hooks.ts'
import type { PluginHooks } from '../../plugins/hooks/plugin-hooks.ts'
import type { OnWait, PluginLoader } from '../../plugins/loader.ts'
import { explainMissingMemoryProvider } from '../../plugins/missing-memory-provider.ts'
import type { PluginEnvironments } from '../../plugins/plugin-environments.ts'
import type { PluginMemory } from '../../plugins/plugin-memory.ts'
import type { PluginFailure, PluginReport } from '../../plugins/plugin-report.ts'
import type { PluginToolEntry, PluginTools } from '../../plugins/plugin-tools.ts'

/** What exists only in a gateway with plugins. */
export interface PluginRuntime {
  readonly loader: PluginLoader
  readonly tools: Pick<PluginTools, 'list'>
  readonly environments: Pick<PluginEnvironments, 'find'>
}

export interface PluginManagerDeps {
  readonly roots: readonly PluginRoot[]
  readonly settings: () => PluginsConfig
  readonly environment: () => Environment
  /** Imports the code that loads plugins. Called again only after a failure. */
  openRuntime(): Promise<PluginRuntime>
  readonly hooks: Pick<PluginHooks, 'drain'>
  readonly memory: Pick<PluginMemory, 'activeProviderName' | 'problem' | 'refresh' | 'drain' | 'stop'>
  readonly daemons: Pick<Daemons, 'stop'>
  readonly middleware: Pick<Middleware, 'flush'>
  readonly gatewayHooks: Pick<GatewayHooks, 'gatewayStopping'>
  /** Called when `start` need not wait for the rest, and with undefined when that is loaded. */
  setLoading(loading: LoadingPlugins | undefined): void
  /** Aborts when the gateway begins to stop. */
  readonly stopping: AbortSignal
}

export interface PluginManager {
  /**
   * Loads the plugins for the first time. Resolves when they are loaded, or earlier when the rest waits for a process: then
   * `setLoading` was called. Rejects when the code that loads plugins cannot be imported.
   */
  start(): Promise<void>
  /**
   * Loads and unloads plugins until they match the configuration. Never rejects.
   * @param changedFiles absolute paths of edited files: the plugins that have them are reloaded
   */
  sync(changedFiles?: readonly string[]): Promise<void>
  /** The configuration or the environment has changed. @param changed dotted paths */
  reconfigured(changed: readonly string[]): void
  /** All installed plugins, including disabled ones. */
  list(): Promise<readonly PluginReport[]>
  failures(): readonly PluginFailure[]
  /** Why the provider of `memory.provider` is not active; none if it is, if none is configured, or before the first `sync`. */
  memoryProblems(): readonly string[]
  /** In the order of registration. */
  tools(): readonly PluginToolEntry[]
  /** The kind of environment that a plugin has registered under this name. */
  environment(name: string): EnvironmentKind | undefined
  /** Delivers pending notifications for at most `drainMs`, then the stop, then unloads in reverse order. Never rejects. */
  stop(drainMs: number, force?: AbortSignal): Promise<void>
}

export function createPluginManager(deps: PluginManagerDeps): PluginManager {
  const { roots, settings, environment } = deps
  let runtime: PluginRuntime | undefined
  const open = lazy(() => deps.openRuntime())
  let synced = false
  let stopped = false

  const isSafeMode = () => isEnabledFlag(environment().values['HERMES_SAFE_MODE'])

  async function sync(changedFiles?: readonly string[], onWait?: OnWait): Promise<void> {
    const isNeeded = runtime !== undefined || (!isSafeMode() && hasEnabledPlugins(settings()))
    if (stopped || !isNeeded) return
    runtime = await open()
    await runtime.loader.sync(changedFiles, onWait)
    await deps.memory.refresh()
    synced = true
  }

  async function isLoaded(syncing: Promise<void>): Promise<boolean> {
    try {
      await raceAbort(syncing, deps.stopping)
      deps.setLoading(undefined)
      return true
    } catch {
      // `start` rejects with the error of a failed load.
      return false
    }
  }

  return {
    async start() {
      const waits = Promise.withResolvers<void>()
      let isWaiting = false
      const syncing = sync(undefined, (remaining) => {
        if (isWaiting) return
        isWaiting = true
        deps.setLoading({ done: isLoaded(syncing), mayPreDispatch: remaining.some(mayPreDispatch) })
        waits.resolve()
      })
      await Promise.race([syncing, waits.promise])
    },
    sync: (changedFiles) => sync(changedFiles),
    reconfigured(changed) {
      // The other keys of an entry are read when they are needed.
      const isRelevant = changed.some((path) =>
        /^(plugins\.(enabled|disabled)|memory\.provider|environment)\b/.test(path),
      )
      if (isRelevant) void sync()
    },
    async list() {
      return runtime === undefined
        ? await listUnloadedPlugins(roots, settings(), environment().values)
        : runtime.loader.list()
    },
    failures() {
      if (isSafeMode() && hasEnabledPlugins(settings())) {
        return [{ id: 'all plugins', state: 'off', reason: 'HERMES_SAFE_MODE is set: none is loaded' }]
      }
      return runtime?.loader.failures() ?? []
    },
    memoryProblems() {
      const { provider = '' } = settings().memory
      if (!synced || runtime === undefined || provider === '' || deps.memory.activeProviderName() !== undefined)
        return []
      return [deps.memory.problem() ?? explainMissingMemoryProvider(provider, runtime.loader.list())]
    },
    tools: () => runtime?.tools.list() ?? [],
    environment: (name) => runtime?.environments.find(name),
    async stop(drainMs, force) {
      stopped = true
      // The manager exists without plugins too: programs of the configuration may observe the events of plugins.
      const { hooks, memory, daemons, middleware, gatewayHooks } = deps
      await Promise.all([hooks.drain(drainMs, force), memory.drain(drainMs, force)])
      // By now, plugins that keep data per session have been notified of the end of their turns.
      gatewayHooks.gatewayStopping()
      await hooks.drain(drainMs, force)
      await daemons.stop()
      await memory.stop()
      await withTimeout(middleware.flush(), drainMs, force)
      await (await open.made())?.loader.stop()
    },
  }
}

async function listUnloadedPlugins(
  roots: readonly PluginRoot[],
  settings: PluginsConfig,
  values: Environment['values'],
): Promise<readonly PluginReport[]> {
  const [{ cataloguePlugins }, { emptyRuntimeState, createPluginReports }] = await Promise.all([
    import('../../plugins/catalogue.ts'),
    import('../../plugins/plugin-report.ts'),
  ])
  return createPluginReports(await cataloguePlugins(roots, settings, values), emptyRuntimeState)
}

/** A manifest that lists the hooks of its plugin may exclude this one. */
function mayPreDispatch({ manifest: { providesHooks } }: DiscoveredPlugin): boolean {
  return providesHooks === undefined || providesHooks.includes('pre_gateway_dispatch')
}

function isEnabledFlag(value = ''): boolean {
  return /^(1|true|yes|on)$/i.test(value)
}
