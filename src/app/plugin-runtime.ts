/**
 * Composes the plugin loader with the services that plugins use. Imported with the first plugin.
 */

import { toOpenAiHistory } from '../agent/loop/openai-history.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import type { Config } from '../config/load.ts'
import { createPluginHostApi, type PluginHostApiDeps } from '../flows/plugins/plugin-host-api.ts'
import type { PluginRuntime } from '../flows/plugins/plugin-manager.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { sleep } from '../lib/timers.ts'
import { type CallbackTrace, createCallbackObserver } from '../plugins/callback-trace.ts'
import { configEntryOf } from '../plugins/config.ts'
import type { PluginServices } from '../plugins/context.ts'
import type { PluginLoaderDeps } from '../plugins/load-plugin.ts'
import { createPluginLoader } from '../plugins/loader.ts'
import type { ProviderMemoryDeps } from '../plugins/memory/contract.ts'
import { createProviderMemory } from '../plugins/memory/provider-memory.ts'
import { createPluginCommands } from '../plugins/plugin-commands.ts'
import { createPluginEnvironments } from '../plugins/plugin-environments.ts'
import type { PluginMemory } from '../plugins/plugin-memory.ts'
import { createPluginStates } from '../plugins/plugin-state.ts'
import { createPluginTools } from '../plugins/plugin-tools.ts'
import { readTranscript } from '../sessions/transcript.ts'
import type { GatewayShapes } from './config.ts'

export interface PluginRuntimeDeps
  extends Pick<PluginLoaderDeps, 'roots' | 'loadPython' | 'runAsPlugin'>,
    Pick<PluginServices, 'hooks' | 'sections' | 'skills' | 'daemons'>,
    Pick<ProviderMemoryDeps, 'redact' | 'timeoutMs'>,
    Omit<PluginHostApiDeps, 'entry'> {
  readonly home: HomeLayout
  readonly config: Config<GatewayShapes>
  readonly commands: Pick<CommandRegistry, 'resolve' | 'register'>
  /** The methods that a provider gives it replace those of the object. */
  readonly memory: PluginMemory
  /** Called when plugins have registered or removed a tool. */
  toolsChanged(): void
  /** Receives each call of a plugin callback. */
  readonly onPluginCall?: ((firing: CallbackTrace) => void) | undefined
  readonly log: Logger
}

export function openPluginRuntime(deps: PluginRuntimeDeps): PluginRuntime {
  const { home, config, clock, log, onPluginCall } = deps
  const entry = (owner: string) => configEntryOf(config.current(), owner)
  const tools = createPluginTools((owner) => entry(owner).allow_tool_override, deps.toolsChanged, log)
  const environments = createPluginEnvironments(deps.toolsChanged)
  const memory = createProviderMemory({
    configuredProvider: () => config.current().memory.provider,
    groupMemory: () => config.current().memory.group_memory,
    home: home.root,
    tools,
    readMessages: async (sessionId) => {
      const entries = await deps.store.run(() => readTranscript(sessionId))
      return toOpenAiHistory(entries.map(({ message }) => message))
    },
    redact: deps.redact,
    timeoutMs: deps.timeoutMs,
    now: clock,
    sleep,
    log,
  })
  Object.assign(deps.memory, memory)
  const hostApi = createPluginHostApi({
    agents: deps.agents,
    agentHooks: deps.agentHooks,
    middleware: deps.middleware,
    approve: deps.approve,
    inbox: deps.inbox,
    store: deps.store,
    access: deps.access,
    embeddedSessionKey: deps.embeddedSessionKey,
    currentTurn: deps.currentTurn,
    retry: deps.retry,
    entry,
    stopping: deps.stopping,
    clock,
    random: deps.random,
    pause: deps.pause,
    log,
    failpoint: deps.failpoint,
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
      environments,
      sections: deps.sections,
      skills: deps.skills,
      daemons: deps.daemons,
      state: createPluginStates(home.pluginState, log),
      complete: hostApi.complete,
      dispatchTool: hostApi.dispatchTool,
      callMcp: hostApi.callMcp,
      injectMessage: hostApi.injectMessage,
    },
    loadPython: deps.loadPython,
    runAsPlugin: deps.runAsPlugin,
    observe: onPluginCall === undefined ? undefined : createCallbackObserver(onPluginCall, () => performance.now()),
    clock,
    log,
  })
  return { loader, tools, environments }
}
