/**
 * Composes the plugin loader with the services that plugins use. Imported with the first plugin.
 */

import type { Agent } from '../agent/agent.ts'
import { toOpenAiHistory } from '../agent/loop/openai-history.ts'
import { retryRulesOf } from '../agent/models/retry-policy.ts'
import { createPluginHostApi } from '../flows/plugins/plugin-host-api.ts'
import type { PluginRuntime } from '../flows/plugins/plugin-manager.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { sleep } from '../lib/timers.ts'
import { createCallbackObserver } from '../plugins/callback-trace.ts'
import { configEntryOf } from '../plugins/config.ts'
import { createPluginLoader } from '../plugins/loader.ts'
import { createProviderMemory } from '../plugins/memory/provider-memory.ts'
import { createPluginCommands } from '../plugins/plugin-commands.ts'
import { createPluginEnvironments } from '../plugins/plugin-environments.ts'
import { createPluginStates } from '../plugins/plugin-state.ts'
import { createPluginTools } from '../plugins/plugin-tools.ts'
import { readTranscript } from '../sessions/transcript.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'
import { pluginDirectories } from './plugin-directories.ts'
import { createPythonLoader } from './python-plugins.ts'

export interface PluginAgent {
  readonly agentServices: AgentServices
  /** The turn in which the caller runs; undefined outside of turns. */
  readonly currentTurn: Agent['currentTurn']
}

export function openPluginRuntime(context: AppContext, core: Core, agent: PluginAgent): PluginRuntime {
  const { options, home, config, settings, accountDirectory, store, stopping, clock, random, log, failpoint } = context
  const { middleware, hooks, sections, skills, daemons, agentHooks } = core.pluginRegistries
  const { agentServices, currentTurn } = agent
  const { onPluginCall, runAsPlugin } = options
  const entry = (owner: string) => configEntryOf(settings(), owner)
  const toolsChanged = agentServices.tools.changed
  const tools = createPluginTools((owner) => entry(owner).allow_tool_override, toolsChanged, log)
  const environments = createPluginEnvironments(toolsChanged)
  const memory = createProviderMemory({
    configuredProvider: () => settings().memory.provider,
    groupMemory: () => settings().memory.group_memory,
    home: home.root,
    tools,
    readMessages: async (sessionId) => {
      const entries = await store.run(() => readTranscript(sessionId))
      return toOpenAiHistory(entries.map(({ message }) => message))
    },
    // What a provider stores must stay intact, so words of everyday text are not replaced.
    redact: context.secrets.redactKnown,
    timeoutMs: () => settings().plugins.hook_callback_timeout * 1_000,
    now: clock,
    sleep,
    log,
  })
  // Modules keep this object: the methods that a provider gives it replace its own.
  Object.assign(core.pluginRegistries.memory, memory)
  const hostApi = createPluginHostApi({
    ...{ middleware, agentHooks, currentTurn, entry, store, stopping, clock, random, log, failpoint },
    agents: agentServices,
    approve: core.approvals.approveTool,
    inbox: core.inbox,
    access: accountDirectory.access,
    embeddedSessionKey: core.embeddedSessionKey,
    retry: () => retryRulesOf(settings().agent),
    pause: core.pauseTurn,
  })
  const loader = createPluginLoader({
    roots: pluginDirectories(home),
    settings,
    environment: () => config.environment().values,
    services: {
      home: home.root,
      commands: createPluginCommands(core.commands),
      memory: core.pluginRegistries.memory,
      state: createPluginStates(home.pluginState, log),
      ...{ middleware, hooks, tools, environments, sections, skills, daemons },
      ...hostApi,
    },
    loadPython: createPythonLoader(context),
    runAsPlugin,
    observe: onPluginCall === undefined ? undefined : createCallbackObserver(onPluginCall, () => performance.now()),
    clock,
    log,
  })
  return { loader, tools, environments }
}
