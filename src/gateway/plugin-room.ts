/**
 * Everything that only a gateway with plugins needs: the loader, and what it joins plugins with. Loaded with the first one.
 */
import { builtInTools } from '../agent/tools/names.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import type { Config } from '../config/load.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { createPluginCommands } from '../plugins/commands.ts'
import { entryOf } from '../plugins/config.ts'
import type { PluginServices } from '../plugins/context.ts'
import { createObserver, type Firing } from '../plugins/firing.ts'
import { createPluginLoader, type PluginLoader, type PluginLoaderDeps } from '../plugins/loader.ts'
import { createPluginStates } from '../plugins/state.ts'
import { createPluginTools, type PluginTools } from '../plugins/tools.ts'
import type { GatewayShapes } from './config.ts'
import { createPluginRequests, type PluginRequestsDeps } from './plugin-requests.ts'

export type { OfferedTool } from '../plugins/tools.ts'

export interface PluginRoomDeps
  extends Pick<PluginLoaderDeps, 'roots' | 'loadPython' | 'inPlugin'>,
    Pick<PluginServices, 'hooks' | 'memory' | 'sections' | 'daemons'>,
    Omit<PluginRequestsDeps, 'entry'> {
  readonly home: HomeLayout
  readonly config: Config<GatewayShapes>
  readonly commands: Pick<CommandRegistry, 'resolve' | 'register'>
  /** The tools that plugins offer are others now. */
  toolsChanged(): void
  /** Told of each call of a callback of a plugin. */
  readonly onPluginCall?: ((firing: Firing) => void) | undefined
  readonly log: Logger
}

export interface PluginRoom {
  readonly loader: PluginLoader
  readonly tools: Pick<PluginTools, 'list'>
}

export function openPluginRoom(deps: PluginRoomDeps): PluginRoom {
  const { home, config, clock, log, onPluginCall } = deps
  const entry = (owner: string) => entryOf(config.current(), owner)
  const tools = createPluginTools({
    builtIn: builtInTools,
    mayOverride: (owner) => entry(owner).allow_tool_override,
    onChange: deps.toolsChanged,
    log,
  })
  const loader = createPluginLoader({
    roots: deps.roots,
    settings: config.current,
    environment: () => config.environment().values,
    services: {
      home: home.root,
      middleware: deps.middleware,
      hooks: deps.hooks,
      tools,
      commands: createPluginCommands(deps.commands),
      memory: deps.memory,
      sections: deps.sections,
      daemons: deps.daemons,
      state: createPluginStates({ folder: home.pluginState, log }),
      ...createPluginRequests({ ...deps, entry }),
    },
    loadPython: deps.loadPython,
    inPlugin: deps.inPlugin,
    observe: onPluginCall === undefined ? undefined : createObserver(onPluginCall, () => performance.now()),
    clock,
    log,
  })
  return { loader, tools }
}
