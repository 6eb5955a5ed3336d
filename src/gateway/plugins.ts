/**
 * Joins the room of the plugins with the rooms it needs. While the configuration names no plugin, nothing is loaded here
 * and no folder is looked into.
 */
import { fileURLToPath } from 'node:url'
import type { AgentPoints } from '../agent/points.ts'
import type { Config } from '../config/load.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { within } from '../lib/wait.ts'
import type { SessionSource } from '../message/source.ts'
import type { Middleware } from '../middleware/contract.ts'
import { createDaemons, type Daemons } from '../plugins/daemons/daemons.ts'
import type { PluginFolder } from '../plugins/discovery.ts'
import { wantsAny } from '../plugins/enabled.ts'
import { createGatewayPoints, type GatewayPoints } from '../plugins/gateway-points.ts'
import { createPluginHooks, type PluginHooks } from '../plugins/hooks/hooks.ts'
import { createMemory, type PluginMemory } from '../plugins/memory.ts'
import { createPluginPoints } from '../plugins/points.ts'
import type { PluginReport, PluginTrouble } from '../plugins/report.ts'
import { createPromptSections, type PromptSections } from '../plugins/sections.ts'
import type { GatewayShapes } from './config.ts'
import { pythonLoader } from './plugin-python.ts'
import type { OfferedTool, PluginRoom, PluginRoomDeps } from './plugin-room.ts'

/** Plugins that ship with the gateway. */
const bundledPlugins = fileURLToPath(new URL('../../plugins', import.meta.url))

export function pluginFolders(home: Pick<HomeLayout, 'plugins'>): readonly PluginFolder[] {
  return [
    { path: bundledPlugins, origin: 'bundled' },
    { path: home.plugins, origin: 'home' },
  ]
}

export interface PluginGroundDeps {
  readonly config: Config<GatewayShapes>
  readonly middleware: Middleware
  /** `<platform>_<chat_type>`; '' on the command line. */
  routeOf(source: SessionSource): string
  /** Takes the secrets of the configuration out of a text. */
  redact(text: string): string
  readonly clock: () => number
  readonly random: () => number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
}

/** What plugins register with; there with or without them. */
export interface PluginGround {
  readonly middleware: Middleware
  readonly hooks: PluginHooks
  readonly memory: PluginMemory
  readonly sections: PromptSections
  readonly daemons: Daemons
  /** What the agent asks of all of them. */
  readonly points: AgentPoints
  /** What the gateway tells and asks them beside the turns. */
  readonly gatewayPoints: GatewayPoints
}

export function createPluginGround(deps: PluginGroundDeps): PluginGround {
  const { config, middleware, clock, random, pause, log } = deps
  const plugins = () => config.current().plugins
  const bounded = { log, now: clock, pause, timeoutMs: () => plugins().hook_callback_timeout * 1_000 }
  const hooks = createPluginHooks({ ...bounded, toolErrors: () => plugins().pre_tool_call_errors })
  const memory = createMemory({ ...bounded, chosen: () => config.current().memory.provider })
  return {
    middleware,
    hooks,
    memory,
    sections: createPromptSections(bounded),
    daemons: createDaemons({ log, clock, pause, random }),
    points: createPluginPoints({
      hooks,
      memory,
      changesAnswers: middleware.changesAnswers,
      streamReasoning: () => plugins().stream_reasoning_deltas,
      redact: deps.redact,
      log,
    }),
    gatewayPoints: createGatewayPoints({ hooks, routeOf: deps.routeOf, log }),
  }
}

export interface GatewayPlugins {
  /** Makes what is loaded equal to what the configuration names. Never rejects. */
  follow(): Promise<void>
  /** The configuration or the environment is another one. @param changed dotted paths */
  reconfigured(changed: readonly string[]): void
  /** All there are, also those that nobody asked for. */
  list(): Promise<readonly PluginReport[]>
  troubles(): readonly PluginTrouble[]
  /** In the order of registration. */
  tools(): readonly OfferedTool[]
  /** Lets what watches hear the rest for at most `drainMs`, then that the gateway stops, then unloads everything, the last one first. Never rejects. */
  stop(drainMs: number, hurry?: AbortSignal): Promise<void>
}

type Deps = Omit<PluginRoomDeps, 'roots'> & PluginGround

export function createGatewayPlugins(deps: Deps): GatewayPlugins {
  const { home, config } = deps
  const roots = pluginFolders(home)
  let room: PluginRoom | undefined
  let opening: Promise<PluginRoom> | undefined
  let stopped = false

  const isSafe = () => isOn(config.environment().values['HERMES_SAFE_MODE'])
  const isWanted = () => !isSafe() && wantsAny(config.current())

  async function opened(): Promise<PluginRoom> {
    const loadPython = deps.loadPython ?? pythonLoader(deps)
    opening ??= import('./plugin-room.ts').then(({ openPluginRoom }) => openPluginRoom({ ...deps, loadPython, roots }))
    room = await opening
    return room
  }

  async function follow(): Promise<void> {
    if (stopped || (room === undefined && !isWanted())) return
    await (await opened()).loader.sync()
  }

  return {
    follow,
    reconfigured(changed) {
      // Other keys of an entry are read when they are needed.
      const concerns = changed.some((path) =>
        /^(plugins\.(enabled|disabled)|memory\.provider|environment)\b/.test(path),
      )
      if (concerns) void follow()
    },
    async list() {
      if (room !== undefined) return room.loader.list()
      const [{ cataloguePlugins }, { nothingKnown, reportsOf }] = await Promise.all([
        import('../plugins/catalogue.ts'),
        import('../plugins/report.ts'),
      ])
      const environment = config.environment().values
      return reportsOf(await cataloguePlugins({ roots, settings: config.current(), environment }), nothingKnown)
    },
    troubles() {
      if (isSafe() && wantsAny(config.current())) {
        return [{ id: 'all plugins', state: 'off', reason: 'HERMES_SAFE_MODE is set: none is loaded' }]
      }
      return room?.loader.troubles() ?? []
    },
    tools: () => room?.tools.list() ?? [],
    async stop(drainMs, hurry) {
      stopped = true
      if (opening === undefined) return
      const { hooks, memory, daemons, middleware, gatewayPoints } = deps
      await Promise.all([hooks.settled(drainMs, hurry), memory.settled(drainMs, hurry)])
      // Whoever puts away what belongs to sessions has heard of the end of their turns by then.
      gatewayPoints.stopping()
      await hooks.settled(drainMs, hurry)
      await daemons.stop()
      await memory.stop()
      await within(middleware.flush(), drainMs, hurry)
      await (await opening).loader.stop()
    },
  }
}

function isOn(value = ''): boolean {
  return /^(1|true|yes|on)$/i.test(value)
}
