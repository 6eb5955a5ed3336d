/**
 * Joins the room of the plugins with the rooms it needs. While the configuration names no plugin, nothing is loaded here
 * and no folder is looked into.
 */
import { fileURLToPath } from 'node:url'
import type { AgentHooks } from '../agent/agent-hooks.ts'
import type { Config } from '../config/load.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { SessionSource } from '../message/source.ts'
import type { Middleware } from '../middleware/contract.ts'
import { createAgentHooks } from '../plugins/agent-hooks.ts'
import { createDaemons, type Daemons } from '../plugins/daemons/daemons.ts'
import { hasEnabledPlugins } from '../plugins/desired-state.ts'
import type { PluginRoot } from '../plugins/discovery.ts'
import { createGatewayHooks, type GatewayHooks } from '../plugins/gateway-hooks.ts'
import { createPluginHooks, type PluginHooks } from '../plugins/hooks/plugin-hooks.ts'
import { createPluginMemory, type PluginMemory } from '../plugins/plugin-memory.ts'
import type { PluginFailure, PluginReport } from '../plugins/plugin-report.ts'
import { createPromptSections, type PromptSections } from '../plugins/prompt-sections.ts'
import type { GatewayShapes } from './config.ts'
import type { PluginRuntime, PluginRuntimeDeps, PluginToolEntry } from './plugin-runtime.ts'
import { createPythonLoader } from './python-plugins.ts'

/** Plugins that ship with the gateway. */
const bundledPluginsDirectory = fileURLToPath(new URL('../../plugins', import.meta.url))

export function pluginDirectories(home: Pick<HomeLayout, 'plugins'>): readonly PluginRoot[] {
  return [
    { path: bundledPluginsDirectory, origin: 'bundled' },
    { path: home.plugins, origin: 'home' },
  ]
}

export interface PluginRegistriesDeps {
  readonly config: Config<GatewayShapes>
  readonly middleware: Middleware
  /** `<platform>_<chat_type>`; '' on the command line. */
  routeOf(source: SessionSource): string
  /** Takes the secrets of the configuration out of a text. */
  redact(text: string): string
  readonly clock: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
}

/** What plugins register with; there with or without them. */
export interface PluginRegistries {
  readonly middleware: Middleware
  readonly hooks: PluginHooks
  readonly memory: PluginMemory
  readonly sections: PromptSections
  readonly daemons: Daemons
  /** What the agent asks of all of them. */
  readonly agentHooks: AgentHooks
  /** What the gateway tells and asks them beside the turns. */
  readonly gatewayHooks: GatewayHooks
}

export function createPluginRegistries(deps: PluginRegistriesDeps): PluginRegistries {
  const { config, middleware, clock, random, sleep, log } = deps
  const plugins = () => config.current().plugins
  const bounded = { log, now: clock, sleep, timeoutMs: () => plugins().hook_callback_timeout * 1_000 }
  const hooks = createPluginHooks({ ...bounded, toolErrors: () => plugins().pre_tool_call_errors })
  const memory = createPluginMemory({ ...bounded, configuredProvider: () => config.current().memory.provider })
  return {
    middleware,
    hooks,
    memory,
    sections: createPromptSections(bounded),
    daemons: createDaemons({ log, clock, sleep, random }),
    agentHooks: createAgentHooks({
      hooks,
      memory,
      mayChangeOutput: middleware.canChangeModelOutput,
      streamReasoning: () => plugins().stream_reasoning_deltas,
      redact: deps.redact,
      log,
    }),
    gatewayHooks: createGatewayHooks({ hooks, routeOf: deps.routeOf, log }),
  }
}

export interface PluginManager {
  /** Makes what is loaded equal to what the configuration names. Never rejects. */
  sync(): Promise<void>
  /** The configuration or the environment is another one. @param changed dotted paths */
  reconfigured(changed: readonly string[]): void
  /** All there are, also those that nobody asked for. */
  list(): Promise<readonly PluginReport[]>
  failures(): readonly PluginFailure[]
  /** In the order of registration. */
  tools(): readonly PluginToolEntry[]
  /** Lets what watches hear the rest for at most `drainMs`, then that the gateway stops, then unloads everything, the last one first. Never rejects. */
  stop(drainMs: number, hurry?: AbortSignal): Promise<void>
}

type PluginManagerDeps = Omit<PluginRuntimeDeps, 'roots'> & PluginRegistries

export function createPluginManager(deps: PluginManagerDeps): PluginManager {
  const { home, config } = deps
  const roots = pluginDirectories(home)
  let runtime: PluginRuntime | undefined
  let opening: Promise<PluginRuntime> | undefined
  let stopped = false

  const isSafeMode = () => isEnabledFlag(config.environment().values['HERMES_SAFE_MODE'])
  const isWanted = () => !isSafeMode() && hasEnabledPlugins(config.current())

  async function openRuntime(): Promise<PluginRuntime> {
    const loadPython = deps.loadPython ?? createPythonLoader(deps)
    opening ??= import('./plugin-runtime.ts').then(({ openPluginRuntime }) =>
      openPluginRuntime({ ...deps, loadPython, roots }),
    )
    runtime = await opening
    return runtime
  }

  async function sync(): Promise<void> {
    if (stopped || (runtime === undefined && !isWanted())) return
    await (await openRuntime()).loader.sync()
  }

  return {
    sync,
    reconfigured(changed) {
      // Other keys of an entry are read when they are needed.
      const isRelevant = changed.some((path) =>
        /^(plugins\.(enabled|disabled)|memory\.provider|environment)\b/.test(path),
      )
      if (isRelevant) void sync()
    },
    async list() {
      if (runtime !== undefined) return runtime.loader.list()
      const [{ cataloguePlugins }, { emptyRuntimeState, createPluginReports }] = await Promise.all([
        import('../plugins/catalogue.ts'),
        import('../plugins/plugin-report.ts'),
      ])
      const environment = config.environment().values
      return createPluginReports(
        await cataloguePlugins({ roots, settings: config.current(), environment }),
        emptyRuntimeState,
      )
    },
    failures() {
      if (isSafeMode() && hasEnabledPlugins(config.current())) {
        return [{ id: 'all plugins', state: 'off', reason: 'HERMES_SAFE_MODE is set: none is loaded' }]
      }
      return runtime?.loader.failures() ?? []
    },
    tools: () => runtime?.tools.list() ?? [],
    async stop(drainMs, force) {
      stopped = true
      if (opening === undefined) return
      const { hooks, memory, daemons, middleware, gatewayHooks } = deps
      await Promise.all([hooks.drain(drainMs, force), memory.drain(drainMs, force)])
      // Whoever puts away what belongs to sessions has heard of the end of their turns by then.
      gatewayHooks.gatewayStopping()
      await hooks.drain(drainMs, force)
      await daemons.stop()
      await memory.stop()
      await withTimeout(middleware.flush(), drainMs, force)
      await (await opening).loader.stop()
    },
  }
}

function isEnabledFlag(value = ''): boolean {
  return /^(1|true|yes|on)$/i.test(value)
}
